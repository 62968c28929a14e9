"""What each kind of kernel file says about a row: operator class, curve key, shape and features in SI units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner.core.hardware.chip import Chip
from planner.core.hardware.efficiency.all_to_all import deduplicated_volume, naive_volume
from planner.core.hardware.efficiency.linear import CHUNK
from planner.core.hardware.efficiency.moe import moe_stream_bytes, tile_work
from planner.core.operators.mixture import reached_share
from planner.core.precision import Compute, WeightFormat, compute_pipe, weight_format
from planner.core.quantities.units import MICRO, MILLI

Row = Mapping[str, str]
_FORMATS = {"bfloat16": "bf16", "half": "fp16", "sq": "int8", "int8_wo": "w8a16", "int4_wo": "w4a16",
            "w4a16_mxfp4": "mxfp4", "w4a8_mxfp4_mxfp8": "mxfp4"}
_LATENT, _LATENT_VALUE = 576, 512  # DeepSeek-V3 latent and rotary width, value width (arXiv 2412.19437, §4.2)
_NOPE, _ROPE, _VALUE = 128, 64, 128  # its head widths
_HIDDEN, _Q_RANK = 7168, 1536  # its hidden size and query rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One measured kernel."""

    operator: str
    key: str
    chip: str
    engine: str
    kernel: str
    shape: str
    features: Mapping[str, float]
    time: float
    """[s]."""
    peak: float
    """[FLOP/s]."""
    bandwidth: float
    """[byte/s]."""
    link_rate: float = 1.0
    """[byte/s]."""
    version: tuple[int, ...] = ()
    """Of the engine, where only the newest kernel is kept."""

    @property
    def group(self) -> tuple[str, ...]:
        """What shares a curve."""
        return (self.operator, self.key, self.chip, self.engine, self.kernel)


def _seconds(row: Row) -> float:
    return float(row["latency_us"]) * MICRO if "latency_us" in row else float(row["latency_ms"]) * MILLI


def _engine(row: Row) -> str:
    return row.get("engine") or row.get("backend") or "nccl"


def _format(name: str, chip: Chip) -> tuple[WeightFormat, Compute]:
    fmt = weight_format(_FORMATS.get(name, name))
    return fmt, compute_pipe(fmt, chip.peaks, chip.name)


def gemm(row: Row, chip: Chip) -> Kernel:
    """A dense matrix product of m tokens."""
    fmt, compute = _format(row["gemm_dtype"], chip)
    m, n, k = (float(row[c]) for c in "mnk")
    activation = fmt.activation_bytes
    return Kernel(operator="gemm", key=fmt.name, chip=chip.id, engine=_engine(row), kernel="",
                  shape=f"{n:.0f}x{k:.0f}", time=_seconds(row), peak=compute.peak, bandwidth=chip.bandwidth,
                  features={"work": 2 * m * n * k, "tokens": m, "inputs": k,
                            "traffic": n * k * fmt.bytes_per_element + m * k * activation + 2 * m * n})


def mixture(row: Row, chip: Chip) -> Kernel:
    """A fused expert block; ``pairs`` and ``active_experts`` are of the timed rank."""
    fmt, compute = _format(row["moe_dtype"], chip)
    pairs, distinct, tokens = float(row["pairs"]), float(row["active_experts"]), float(row["num_tokens"])
    hidden, inner = float(row["hidden"]), float(row["inter"]) / float(row["tp"])
    local = float(row["experts"]) / float(row["ep"])
    masked, computed = _masked_pairs(row)
    stream, gathered = (float(moe_stream_bytes(tokens=n, pairs=p, hidden=hidden, inner=inner,
                                               activation_bytes=fmt.activation_bytes))
                        for n, p in ((tokens, pairs), (0.0, masked)))
    weight = distinct * 3 * hidden * inner * fmt.bytes_per_element
    pair_work = 6 * hidden * inner
    key = "mxfp4_w4a16" if row["moe_dtype"] == "w4a16_mxfp4" else fmt.name
    peak = chip.peak("bf16") if key == "mxfp4_w4a16" else compute.peak
    return Kernel(operator="moe", key=key, chip=chip.id, engine=_engine(row), kernel=row["kernel_source"],
                  shape=row["model"], time=_seconds(row), peak=peak, bandwidth=chip.bandwidth,
                  features={"work": pair_work * pairs, "weight_traffic": weight, "traffic": weight,
                            "distinct": distinct, "stream_traffic": stream, "local_experts": local,
                            "gathered_traffic": gathered, "masked_work": pair_work * computed,
                            "ranks": float(row["ep"]),
                            "row_work": float(tile_work(pair_work=pair_work, distinct=distinct, tokens=tokens,
                                                        local_experts=local))})


def _masked_pairs(row: Row) -> tuple[float, float]:
    """Pairs of a gathered batch that belong to other ranks, and those of the tokens that reach the timed one."""
    pairs, tokens, chosen = float(row["pairs"]), float(row["num_tokens"]), float(row["topk"])
    if float(row["ep"]) <= 1:
        return 0.0, 0.0
    everything = tokens * chosen
    spread_evenly = row["distribution"] == "balanced"  # then no token has a second expert here while another has none
    reached = min(tokens, pairs) if spread_evenly else tokens * float(reached_share(min(pairs / everything, 1), chosen))
    return max(everything - pairs, 0.0), max(reached * chosen - pairs, 0.0)


def decode_attention(row: Row, chip: Chip) -> Kernel:
    """Grouped-query attention of one query per sequence."""
    batch, context = float(row["batch_size"]), float(row["kv_len"])
    heads, kv_heads, width = float(row["num_heads"]), float(row["num_key_value_heads"]), float(row["head_dim"])
    size = _cache_bytes(row["kv_cache_dtype"])
    cache = 2 * batch * context * kv_heads * width * size
    return Kernel(operator="decode", key=_cache_key("gqa", size), chip=chip.id, engine=_engine(row), kernel="",
                  shape=f"{heads:.0f}/{kv_heads:.0f}", time=_seconds(row), peak=chip.peak("bf16"),
                  bandwidth=chip.bandwidth,
                  features={"work": 4 * batch * context * heads * width, "cache_traffic": cache, "traffic": cache,
                            "io_traffic": 4 * batch * heads * width, "context": context, "batch": batch})


def prompt_attention(row: Row, chip: Chip) -> Kernel | None:
    """Causal attention of whole prompts; quantised query-key products are another class."""
    if row["attn_dtype"] != "bfloat16":
        return None
    batch, length = float(row["batch_size"]), float(row["isl"])
    heads, kv_heads, width = float(row["num_heads"]), float(row["num_key_value_heads"]), float(row["head_dim"])
    size = _cache_bytes(row["kv_cache_dtype"])
    pairs = batch * length * (length + 1) / 2
    return Kernel(operator="prompt", key=_cache_key("gqa", size), chip=chip.id, engine=_engine(row), kernel="",
                  shape=f"{heads:.0f}/{kv_heads:.0f}", time=_seconds(row), peak=chip.peak("bf16"),
                  bandwidth=chip.bandwidth,
                  features={"work": 4 * heads * width * pairs,
                            "traffic": 2 * batch * length * width * (2 * heads + 2 * kv_heads)})


def latent(row: Row, chip: Chip) -> Kernel | None:
    """Multi-head latent attention: the kernel alone or the whole block with its projections."""
    readers = {"kernel_decode": _latent_decode, "block_decode": _latent_decode, "kernel_prefill": _latent_prompt,
               "block_prefill": _latent_prompt}
    reader = readers.get(row["op"])
    return None if reader is None else reader(row, chip)


def _latent_decode(row: Row, chip: Chip) -> Kernel:
    batch, context, heads = float(row["batch_size"]), float(row["kv_len"]), float(row["heads_per_rank"])
    size = _cache_bytes(row["kv_dtype"])
    cache = batch * context * _LATENT * size
    features = {"work": 2 * batch * heads * context * (_LATENT + _LATENT_VALUE), "cache_traffic": cache,
                "traffic": cache, "io_traffic": 2 * batch * heads * (_LATENT + _LATENT_VALUE), "context": context,
                "batch": batch, "heads": heads}
    block = row["op"] == "block_decode"
    key = _cache_key("mla", size)
    if block:
        fmt, compute = _format(row["gemm_dtype"], chip)
        quantised = _HIDDEN * (_Q_RANK + _LATENT) + _Q_RANK * (_NOPE + _ROPE) * heads + _VALUE * heads * _HIDDEN
        absorbed = (_NOPE + _VALUE) * _LATENT_VALUE * heads
        features |= {"weight_traffic": quantised * fmt.bytes_per_element + 2 * absorbed,
                     "block_work": 2 * batch * (quantised + absorbed), "block_peak": compute.peak}
        key = f"{key}+{fmt.name}"
    return Kernel(operator="mla_block" if block else "mla_decode", key=key, chip=chip.id, engine=_engine(row),
                  kernel="", shape=f"{heads:.0f}", time=_seconds(row), peak=chip.peak("bf16"),
                  bandwidth=chip.bandwidth, features=features)


def _latent_prompt(row: Row, chip: Chip) -> Kernel | None:
    """Whole prompts, keys and values expanded; blocks with quantised query-key products are another class."""
    block = row["op"] == "block_prefill"
    if block and row["attn_dtype"] != "bfloat16":
        return None
    batch, new, total = float(row["batch_size"]), float(row["q_len"]), float(row["kv_len"])
    heads, cached = float(row["heads_per_rank"]), float(row["kv_len"]) - float(row["q_len"])
    pairs = batch * (new * cached + new * (new + 1) / 2)
    key_width, value_width = _NOPE + _ROPE, _VALUE
    moved = 2 * batch * heads * (new * (key_width + value_width) + total * (key_width + value_width))
    features = {"work": 2 * heads * (key_width + value_width) * pairs, "traffic": moved}
    key = _cache_key("mla", _cache_bytes(row["kv_dtype"]))
    if block:
        fmt, compute = _format(row["gemm_dtype"], chip)
        projected = _HIDDEN * (_Q_RANK + _LATENT) + _Q_RANK * key_width * heads + value_width * heads * _HIDDEN
        expanded = _LATENT_VALUE * (_NOPE + _VALUE) * heads
        features |= {"weight_traffic": (projected + expanded) * fmt.bytes_per_element, "block_peak": compute.peak,
                     "block_work": 2 * batch * (new * projected + total * expanded)}
        key = f"{key}+{fmt.name}"
    return Kernel(operator="mla_prompt_block" if block else "mla_prompt", key=key, chip=chip.id, engine=_engine(row),
                  kernel="", shape=f"{heads:.0f}", time=_seconds(row), peak=chip.peak("bf16"),
                  bandwidth=chip.bandwidth, features=features)


def recurrent(row: Row, chip: Chip) -> Kernel | None:
    """Gated delta rules and KDA: the decode update or the chunked scan; convolutions are the layer's floor."""
    if (row["op"] not in {"gdn", "kda"} or "conv1d" in row["kernel_source"]
            or row["phase"] not in {"generation", "context"}):
        return None
    batch, length = float(row["batch_size"]), float(row["seq_len"])
    key_heads, heads = float(row["k_heads"]), float(row["v_heads"])
    key_width, width = float(row["k_dim"]), float(row["v_dim"])
    state = heads * key_width * width * 4 * batch
    common = {"chip": chip.id, "engine": _engine(row), "kernel": row["kernel_source"], "time": _seconds(row),
              "peak": chip.peak("bf16"), "bandwidth": chip.bandwidth, "key": row["op"],
              "shape": f"{key_heads:.0f}/{heads:.0f}"}
    if row["phase"] == "generation":
        return Kernel(operator="recurrent_decode", features={"traffic": 2 * state, "work": 0.0}, **common)  # type: ignore[arg-type]  # one mapping for both kernels
    tokens = batch * length
    moved = 2 * tokens * (2 * key_heads * key_width + 3 * heads * width) + 2 * state
    flop = 2 * CHUNK * (3 * key_width + 2 * width) + 6 * key_width * width  # the chunked delta rule, per head and token
    return Kernel(operator="recurrent_prompt", **common,  # type: ignore[arg-type]  # as above
                  features={"work": tokens * heads * flop, "traffic": moved, "longest": length})


def all_reduce(row: Row, chip: Chip) -> Kernel | None:
    """A custom all-reduce inside a node replayed from a graph, or NCCL's; other fabrics are another kernel."""
    own = row["kernel_source"] != "NCCL"
    if row["kernel_source"].endswith("_eager") or (own and int(row["num_gpus"]) > chip.gpus_per_node):
        return None
    return _collective(row, chip, operator="all_reduce", key="all_reduce", kernel=row["kernel_source"])


def collective(row: Row, chip: Chip) -> Kernel | None:
    """NCCL's all-gather and reduce-scatter."""
    if row["op"] == "alltoall":
        return None
    return _collective(row, chip, operator="gather", key="gather", kernel="")


def _collective(row: Row, chip: Chip, *, operator: str, key: str, kernel: str) -> Kernel:
    link = chip.scale_up or chip.host
    return Kernel(operator=operator, key=key, chip=chip.id, engine=_engine(row), kernel=kernel, shape=row["bytes"],
                  time=_seconds(row), peak=chip.peak("bf16"), bandwidth=chip.bandwidth,
                  link_rate=link.bytes_per_s if link is not None else 1.0, version=_version(row.get("version", "")),
                  features={"message": float(row["bytes"]), "ranks": float(row["num_gpus"])})


def exchange(row: Row, chip: Chip) -> Kernel | None:
    """Expert dispatch or combine inside one node."""
    low_latency = row["library"].endswith("_ll")
    if float(row["n_nodes"]) > 1 or row["phase"] not in {"dispatch", "combine"} or not (
            low_latency or row["library"].endswith("_ht")):
        return None
    if chip.scale_up is None or (row["sms"] not in {"", "20", "24"}):
        return None
    size = {"fp8": 1.0, "nvfp4": 0.5625, "fp4": 0.5625}.get(row["comm_dtype"], 2.0)
    size = 2.0 if row["phase"] == "combine" else size
    volume = (naive_volume if low_latency else deduplicated_volume)(
        tokens=float(row["num_tokens"]), row_bytes=float(row["hidden"]) * size,
        experts_per_token=float(row["topk"]), ranks=float(row["ep_size"]))
    mode = "low_latency" if low_latency else "high_throughput"
    return Kernel(operator="all_to_all", key=f"{row['phase']}_{mode}", chip=chip.id, engine=_engine(row),
                  kernel=row["comm_dtype"], shape=f"{row['hidden']}/{row['topk']}/{row['ep_size']}",
                  time=_seconds(row), peak=chip.peak("bf16"), bandwidth=chip.bandwidth,
                  link_rate=chip.scale_up.bytes_per_s,
                  features={"volume": float(volume), "tokens": float(row["num_tokens"]),
                            "ranks": float(row["ep_size"])})


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _cache_bytes(name: str) -> float:
    return 1.0 if name == "fp8" else 2.0


def _cache_key(kind: str, size: float) -> str:
    return f"{kind}:{'fp8' if size < 2 else 'bf16'}"


FEATURES: tuple[tuple[frozenset[str], Callable[[Row, Chip], Kernel | None]], ...] = (
    (frozenset({"gemm_dtype", "m", "n", "k"}), gemm),
    (frozenset({"moe_dtype", "active_experts"}), mixture),
    (frozenset({"kv_len", "num_key_value_heads"}), decode_attention),
    (frozenset({"isl", "num_key_value_heads"}), prompt_attention),
    (frozenset({"heads_per_rank", "q_len", "gemm_dtype", "attn_dtype"}), latent),
    (frozenset({"k_heads", "v_heads", "phase"}), recurrent),
    (frozenset({"allreduce_dtype", "num_gpus"}), all_reduce),
    (frozenset({"library", "phase", "ep_size"}), exchange),
    (frozenset({"nccl_version", "op"}), collective),
)
"""Columns that identify a file → how its rows are read."""
