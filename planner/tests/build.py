"""Small models and chips that tests share; figures are those of the reference texts, written out."""

from __future__ import annotations

from functools import lru_cache

from planner.catalog.importers.huggingface import read_config
from planner.catalog.loader import catalog_root
from planner.catalog.profiles import read_profile
from planner.core.architecture.attention import Attention
from planner.core.architecture.feedforward import DenseFeedForward
from planner.core.architecture.layer import Layer
from planner.core.architecture.model import Model, ModelCard
from planner.core.execution.bound import BoundTable, bind
from planner.core.hardware.chip import Chip, Link
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.operators.lower import lower, scheme_for
from planner.core.operators.table import OperatorTable
from planner.core.parallelism import Layout
from planner.core.precision import cache_format

H100 = Chip(id="h100-sxm-80gb", name="H100 SXM", vendor="nvidia", architecture="hopper", memory_bytes=79.19 * 2**30,
            bandwidth=3.35e12, peaks={"bf16": 989e12, "fp16": 989e12, "fp8": 1979e12, "int8": 1979e12, "fp32": 66.9e12},
            scale_up=Link(kind="nvlink", bytes_per_s=450e9, domain=8), power_w=700.0)
H200 = Chip(id="h200-sxm-141gb", name="H200 SXM", vendor="nvidia", architecture="hopper", memory_bytes=139.8 * 2**30,
            bandwidth=4.8e12, peaks=H100.peaks, scale_up=H100.scale_up, power_w=700.0)
A100 = Chip(id="a100-sxm-80gb", name="A100 SXM", vendor="nvidia", architecture="ampere", memory_bytes=79.2 * 2**30,
            bandwidth=2.04e12, peaks={"bf16": 312e12, "fp16": 312e12, "int8": 624e12, "fp32": 19.5e12},
            scale_up=Link(kind="nvlink", bytes_per_s=300e9, domain=8), power_w=400.0)

CARD_8B = ModelCard(id="card-8b", params=8e9, layers=32, kv_heads=8, head_dim=128, vocabulary=128256)


def llama(hidden: int, heads: int, kv_heads: int, inner: int, layers: int) -> Model:
    """A Llama-3-like model."""
    layer = Layer(mixer=Attention(hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=128),
                  feedforwards=(DenseFeedForward(hidden=hidden, intermediate=inner),), norm_parameters=2 * hidden)
    return Model(id="llama", hidden=hidden, vocabulary=128256, layers=((layers, layer),), tied_embeddings=False,
                 extra_parameters=hidden, context_trained=131072)


LLAMA_70B = llama(8192, 64, 8, 28672, 80)
LLAMA_8B = llama(4096, 32, 8, 14336, 32)

MIXTRAL = read_config({
    "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
    "num_experts_per_tok": 2, "tie_word_embeddings": False, "max_position_embeddings": 32768}, id="mixtral-8x7b")

MODELS = {"dense": LLAMA_8B, "mixture": MIXTRAL}


def table(model: Model, *, weights: str = "auto", kv: str = "bf16", **layout: int) -> OperatorTable:
    """A lowered model."""
    return lower(model, layout=Layout(**layout), scheme=scheme_for(model, weights), cache=cache_format(kv))


@lru_cache
def profile(engine: str = "vllm") -> EfficiencyProfile:
    """The catalogue's profile of an H100."""
    return read_profile(catalog_root() / "profiles", H100, engine)


def bound(model: Model, *, chip: Chip = H100, calibrated: bool = False, weights: str = "auto", kv: str = "bf16",
          **layout: int) -> BoundTable:
    """A lowered model under ceilings."""
    return bind(table(model, weights=weights, kv=kv, **layout), chip, profile() if calibrated else None)
