"""The weight formats a checkpoint declares: ``quantization_config`` of every common tool, ignore lists included."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.core.architecture.model import WeightScheme
from planner.core.architecture.parts import Module
from planner.core.errors import InvalidQuantity, MissingFact

_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "bf16", "float": "bf16", "auto": "bf16",
           "bf16": "bf16", "fp16": "fp16", "fp32": "bf16"}  # engines load fp32 checkpoints in 16 bit by default
_LINEAR = (Module.ATTENTION, Module.MLP, Module.EXPERTS, Module.SHARED_EXPERTS)
_PARTS: Mapping[Module, tuple[str, ...]] = {
    Module.ATTENTION: ("self_attn.q_proj", "self_attn.o_proj", "self_attn.qkv_proj", "self_attn.q_a_proj",
                       "self_attention.query_key_value", "attn.c_attn", "mixer.in_proj", "linear_attn.out_proj"),
    Module.MLP: ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "mlp.gate_up_proj", "feed_forward.w1",
                 "mixer.up_proj"),
    Module.EXPERTS: ("mlp.experts.0.gate_proj", "mlp.experts.0.down_proj", "mlp.experts",
                     "block_sparse_moe.experts.0.w1", "feed_forward.experts.0.gate_proj", "feed_forward.experts"),
    Module.SHARED_EXPERTS: ("mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj",
                            "feed_forward.shared_expert.gate_proj", "mlp.shared_experts.down_proj"),
}
_MOST_PATTERNS = 200_000  # per-layer, per-expert lists of the largest checkpoints stay below
_LONGEST_PATTERN = 300


def declared_dtype(config: Mapping[str, object]) -> str:
    """The 16-bit format a checkpoint without quantisation loads in."""
    value = config.get("dtype") or config.get("torch_dtype") or "bfloat16"
    text = str(value).removeprefix("torch.")
    if text not in _DTYPES:
        raise MissingFact(f"dtype {text[:40]!r} is not a format the planner knows.", fact="torch_dtype",
                          pointer="/config/torch_dtype")
    return _DTYPES[text]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skips:
    """Names that a tool leaves alone, in the dialects the tools use."""

    exact: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]

    def covers(self, name: str) -> bool:
        """Whether the name, a parent, or its last parts are listed."""
        parts = name.split(".")
        for start in range(len(parts)):
            for end in range(len(parts), start, -1):
                if (end == len(parts) or start == 0) and ".".join(parts[start:end]) in self.exact:
                    return True
        return any(pattern.search(name) for pattern in self.patterns)


def skips(names: object) -> Skips:
    """The skip list of a config, bounded."""
    if names is None:
        names = ()
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidQuantity("A quantisation skip list must be a list of names.",
                              pointer="/config/quantization_config")
    if len(names) > _MOST_PATTERNS:
        raise InvalidQuantity(f"A quantisation skip list of {len(names)} entries is too long.",
                              pointer="/config/quantization_config")
    exact, patterns = set(), []
    for entry in dict.fromkeys(str(name)[:_LONGEST_PATTERN] for name in names):
        if entry.startswith("re:"):
            patterns.append(_pattern(entry[3:]))
        elif "*" in entry:
            patterns.append(re.compile(fnmatch.translate(entry)))
        else:
            exact.add(entry.rstrip("."))
    return Skips(exact=frozenset(exact), patterns=tuple(patterns))


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidQuantity(f"Quantisation pattern {text[:60]!r} is not a regular expression: {error}.",
                              pointer="/config/quantization_config") from error


def spread(base: str, found: str, skipped: Skips, layers: Sequence[str], *, head: bool = False) -> WeightScheme:
    """``found`` for the linear kinds that the list does not skip, ``base`` elsewhere."""
    overrides = {module: found for module in _LINEAR if not _skipped(module, skipped, layers)}
    if head and not any(skipped.covers(name) for name in ("lm_head", "language_model.lm_head", "model.lm_head")):
        overrides[Module.HEAD] = found
    return WeightScheme(default=base, overrides=overrides)


def _skipped(module: Module, skipped: Skips, layers: Sequence[str]) -> bool:
    """Whether most of a kind's names are skipped in most layers."""
    if not skipped.exact and not skipped.patterns:
        return False
    votes = [_layer_skipped(module, skipped, layer) for layer in layers]
    return sum(votes) * 2 > len(votes)


def _layer_skipped(module: Module, skipped: Skips, layer: str) -> bool:
    for prefix in ("", "model.", "language_model.", "model.language_model."):
        if any(skipped.covers(f"{prefix}{layer}.{part}") for part in _PARTS[module]):
            return True
    return False


def scheme_of(config: Mapping[str, object], quantization: object, layers: Sequence[str]) -> WeightScheme:
    """The scheme a config declares; ``layers`` are checkpoint names of some of its layers."""
    base = declared_dtype(config)
    if quantization is None:
        return WeightScheme(default=base)
    if not isinstance(quantization, Mapping):
        raise InvalidQuantity("quantization_config must be an object.", pointer="/config/quantization_config")
    method = str(quantization.get("quant_method") or quantization.get("quant_algo") or "").lower().replace("_", "-")
    reader = _METHODS.get(method)
    if reader is None and "modelopt" in str(quantization.get("producer", "")):
        reader = _modelopt
    if reader is None:
        raise MissingFact(f"Quantisation method {method[:40]!r} is not modelled; known: {', '.join(_METHODS)}.",
                          fact="quantization_config.quant_method", pointer="/config/quantization_config/quant_method")
    return reader(base, quantization, layers, config)


def cache_format_of(quantization: object) -> str | None:
    """The KV-cache format a checkpoint declares, or None."""
    if not isinstance(quantization, Mapping):
        return None
    scheme = quantization.get("kv_cache_scheme")
    if isinstance(scheme, Mapping) and scheme.get("num_bits") == 8:
        return "fp8" if scheme.get("type") == "float" else "int8"
    algorithm = str(quantization.get("kv_cache_quant_algo") or "").upper()
    return {"FP8": "fp8", "NVFP4": "nvfp4"}.get(algorithm)


Config = Mapping[str, object]


def _fp8(base: str, q: Config, layers: Sequence[str], config: Config) -> WeightScheme:
    skipped = skips(q.get("modules_to_not_convert") or q.get("ignored_layers"))
    scheme = spread(base, "fp8_block" if q.get("weight_block_size") else "fp8", skipped, layers)
    experts = str(config.get("expert_dtype") or q.get("expert_dtype") or "")
    if experts in {"fp4", "mxfp4"}:
        return WeightScheme(default=scheme.default, overrides={**scheme.overrides, Module.EXPERTS: "mxfp4"})
    return scheme


def _grouped(bits: object, group: object) -> str:
    """Weight-only integer formats by bits and group size."""
    if bits == 8:
        return "w8a16"
    if bits == 4:
        size = group if isinstance(group, int) and group > 0 else 128
        return "w4a16" if size >= 128 else f"w4a16_g{size}"
    raise MissingFact(f"{bits!r}-bit weight-only quantisation is not modelled; known: 4 and 8 bits.",
                      fact="quantization_config.bits", pointer="/config/quantization_config/bits")


def _awq(base: str, q: Config, layers: Sequence[str], config: Config) -> WeightScheme:
    del config
    skipped = skips(q.get("modules_to_not_convert"))
    return spread(base, _grouped(q.get("bits", q.get("w_bit", 4)), q.get("group_size", q.get("q_group_size"))), skipped,
                  layers)


def _gptq(base: str, q: Config, layers: Sequence[str], config: Config) -> WeightScheme:
    del config
    dynamic = q.get("dynamic")
    names = [str(key)[2:] for key in dynamic if str(key).startswith("-:")] if isinstance(dynamic, Mapping) else []
    listed = q.get("modules_to_not_convert")
    skipped = skips([*(f"re:{name}" for name in names), *(listed if isinstance(listed, list) else [])])
    return spread(base, _grouped(q.get("bits"), q.get("group_size")), skipped, layers, head=bool(q.get("lm_head")))


def _mxfp4(base: str, q: Config, layers: Sequence[str], config: Config) -> WeightScheme:
    del q, layers, config
    return WeightScheme(default=base, overrides={Module.EXPERTS: "mxfp4"})


def _bitsandbytes(base: str, q: Config, layers: Sequence[str], config: Config) -> WeightScheme:
    del config
    skipped = skips(q.get("llm_int8_skip_modules"))
    if q.get("load_in_8bit") or q.get("_load_in_8bit"):
        return spread(base, "w8a16", skipped, layers)
    # NF4 keeps one scale per 64 weights: fp32, or 8 bit when the scales are quantised themselves.
    return spread(base, "w4a16" if q.get("bnb_4bit_use_double_quant") else "w4a16_g32", skipped, layers)


def _fbgemm(base: str, q: Config, layers: Sequence[str], config: Config) -> WeightScheme:
    del config
    return spread(base, "fp8", skips(q.get("modules_to_not_convert")), layers)


def _modelopt(base: str, q: Config, layers: Sequence[str], config: Config) -> WeightScheme:
    del config
    inner = q.get("quantization")
    source: Config = inner if isinstance(inner, Mapping) else q
    algorithm = str(source.get("quant_algo") or "").upper()
    skipped = skips(source.get("ignore") or source.get("exclude_modules"))
    formats = {"FP8": "fp8", "NVFP4": "nvfp4", "FP8_PB_WO": "fp8_block", "W4A16_AWQ": "w4a16", "NVFP4_AWQ": "nvfp4",
               "FP8_PER_CHANNEL_PER_TOKEN": "fp8", "W4A8_NVFP4_FP8": "nvfp4", "INT8_SQ": "int8", "W8A16": "w8a16",
               "MXFP4": "mxfp4", "W4A8_MXFP4_FP8": "mxfp4"}
    if algorithm not in formats:
        raise MissingFact(f"modelopt quant_algo {algorithm[:40]!r} is not modelled; known: {', '.join(formats)}.",
                          fact="quantization_config.quant_algo", pointer="/config/quantization_config/quant_algo")
    return spread(base, formats[algorithm], skipped, layers, head=True)


def _compressed(base: str, q: Config, layers: Sequence[str], config: Config) -> WeightScheme:
    del config
    groups = q.get("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        raise MissingFact("compressed-tensors without config_groups.", fact="quantization_config.config_groups",
                          pointer="/config/quantization_config/config_groups")
    ignored = skips(q.get("ignore"))
    overrides: dict[Module, str] = {}
    for group in list(groups.values())[:64]:
        if not isinstance(group, Mapping):
            raise InvalidQuantity("A config group must be an object.",
                                  pointer="/config/quantization_config/config_groups")
        name = _compressed_format(group, str(group.get("format") or q.get("format") or ""))
        targets = group.get("targets") or ["Linear"]
        made = spread(base, name, ignored, layers, head=True).overrides
        chosen = skips(targets)
        everything = "Linear" in targets if isinstance(targets, list) else True
        overrides |= {module: value for module, value in made.items()
                      if everything or (module is not Module.HEAD and _skipped(module, chosen, layers))}
    return WeightScheme(default=base, overrides=overrides)


def _compressed_format(group: Config, layout: str) -> str:
    weights, activations = group.get("weights"), group.get("input_activations")
    if not isinstance(weights, Mapping):
        raise MissingFact("A compressed-tensors group without weights is not modelled.",
                          fact="quantization_config.config_groups.weights",
                          pointer="/config/quantization_config/config_groups")
    bits, kind, size = weights.get("num_bits"), weights.get("type"), weights.get("group_size")
    if kind == "float" and bits == 8:
        block = weights.get("strategy") == "block" or weights.get("block_structure")
        return "fp8_block" if block else "fp8" if isinstance(activations, Mapping) else "w8a16"
    if kind == "float" and bits == 4:
        return "mxfp4" if "mxfp4" in layout or size == 32 else "nvfp4"
    if kind == "int" and bits == 8 and isinstance(activations, Mapping):
        return "int8"
    return _grouped(bits, size)


def _quark(base: str, q: Config, layers: Sequence[str], config: Config) -> WeightScheme:
    del config
    inner = q.get("global_quant_config")
    weight = inner.get("weight") if isinstance(inner, Mapping) else None
    weight = weight[0] if isinstance(weight, list) and weight else weight
    dtype = str(weight.get("dtype")) if isinstance(weight, Mapping) else ""
    formats = {"fp8_e4m3": "fp8", "fp4": "mxfp4", "int8": "int8", "int4": "w4a16"}
    if dtype not in formats:
        raise MissingFact(f"quark weight dtype {dtype[:40]!r} is not modelled.",
                          fact="quantization_config.global_quant_config", pointer="/config/quantization_config")
    return spread(base, formats[dtype], skips(q.get("exclude")), layers)


_METHODS = {"fp8": _fp8, "awq": _awq, "gptq": _gptq, "auto-round": _gptq, "mxfp4": _mxfp4, "fbgemm-fp8": _fbgemm,
            "bitsandbytes": _bitsandbytes, "modelopt": _modelopt, "modelopt-fp4": _modelopt, "nvfp4": _modelopt,
            "compressed-tensors": _compressed, "quark": _quark}
