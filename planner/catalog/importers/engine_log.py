"""Start-up logs of serving engines, read into the columns of a capacity row; nothing is executed, sizes are bounded.

Formats: vLLM V1 and V0 loggers, SGLang's server arguments and memory lines, TensorRT-LLM's memory-usage lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from planner.core.errors import InvalidQuantity, MissingFact

MOST_CHARACTERS = 4 * 2**20
"""A start-up log is a few hundred lines; anything larger is cut off here [character]."""
_NUMBER = r"([0-9][0-9,]*\.?[0-9]*)"
# These engines divide by 2**30 even where they print "GB", so every number below is in GiB.

# Column → patterns, first match wins; later lines of a log override earlier ones only where the pattern repeats.
_VLLM: Mapping[str, tuple[str, ...]] = {
    "engine_version": (r"LLM engine \(v([^)\s]+)\)", r"vLLM API server version ([^\s]+)",
                       r"vLLM version[: ]+v?([0-9][^\s,]*)"),
    "model": (r"engine \([^)]*\) with config: model='([^']+)'", r"'model(?:_tag)?': '([^']+)'", r"\bmodel='([^']+)'"),
    "tp": (r"tensor_parallel_size[=':\s]+(\d+)",),
    "pp": (r"pipeline_parallel_size[=':\s]+(\d+)",),
    "max_model_len": (r"max_seq_len=(\d+)", r"max_model_len[=':\s]+(\d+)"),
    "max_num_seqs": (r"max_num_seqs[=':\s]+(\d+)",),
    "max_num_batched_tokens": (r"max_num_batched_tokens[=':\s]+(\d+)",),
    "block_size": (r"\bblock_size[=':\s]+(\d+)",),
    "mem_util": (r"gpu_memory_utilization[=':\s]+\(?([01]?\.\d+|1)", r"gpu_memory_utilization \(([0-9.]+)\)"),
    "weight_dtype": (r"quantization=([\w-]+)", r"'quantization': '([\w-]+)'"),
    "dtype": (r"dtype=torch\.(\w+)", r"\bdtype[=':\s]+'?(bfloat16|float16|float32)"),
    "kv_dtype": (r"kv_cache_dtype[=':\s]+'?(\w+)",),
    "total_gpu_gib": (r"total_gpu_memory \(" + _NUMBER + r"\s*GiB\)",),
    "weights_gib_per_gpu": (r"Model loading took " + _NUMBER + r"\s*Gi?B", r"Loading model weights took " + _NUMBER,
                            r"model weights take " + _NUMBER + r"\s*GiB", r"weights memory: " + _NUMBER),
    "activation_gib": (r"activation peak memory takes " + _NUMBER, r"torch peak memory increase: " + _NUMBER),
    "non_torch_gib": (r"non_torch_memory takes " + _NUMBER, r"non-torch forward increase memory: " + _NUMBER),
    "cuda_graph_gib": (r"[Gg]raph capturing finished in [^,]*, took " + _NUMBER,),
    "kv_avail_gib_per_gpu": (r"Available KV cache memory: " + _NUMBER, r"reserved for KV Cache is " + _NUMBER),
    "kv_tokens": (r"GPU KV cache size: " + _NUMBER + r" tokens",),
    "gpu_blocks": (r"# (?:GPU|cuda) blocks: (\d+)", r"num_gpu_blocks[=':\s]+(\d+)"),
    "max_concurrency": (r"Maximum concurrency for [0-9,]+ tokens per request: " + _NUMBER + r"x",),
}
_SGLANG: Mapping[str, tuple[str, ...]] = {
    "engine_version": (r"sglang(?:\s+version)?[ =:v]+([0-9][\w.]*)",),
    "model": (r"model_path='([^']+)'",), "tp": (r"tp_size=(\d+)",), "pp": (r"pp_size=(\d+)",),
    "mem_util": (r"mem_fraction_static=([0-9.]+)",), "max_model_len": (r"context_len(?:gth)?=(\d+)",),
    "max_num_seqs": (r"max_running_requests=(\d+)",), "max_num_batched_tokens": (r"chunked_prefill_size=(\d+)",),
    "kv_dtype": (r"kv_cache_dtype='(\w+)'",), "weight_dtype": (r"quantization='([\w-]+)'",),
    "dtype": (r"dtype=torch\.(\w+)",), "weights_gib_per_gpu": (r"mem usage=" + _NUMBER + r" GB",),
    "total_gpu_gib": (r"Init torch distributed end.*?avail mem=" + _NUMBER,),
    "kv_tokens": (r"#tokens: " + _NUMBER, r"max_total_num_tokens=(\d+)"),
}
_TRTLLM: Mapping[str, tuple[str, ...]] = {
    "engine_version": (r"TensorRT-LLM version: ([0-9][\w.]*)",), "tp": (r"(?:tp_size|tensor_parallel)[=:\s]+(\d+)",),
    "mem_util": (r"(?:kv_cache_free_gpu_mem(?:ory)?_fraction|free_gpu_memory_fraction)[=:\s]+([0-9.]+)",),
    "max_num_seqs": (r"max_batch_size[=:\s]+(\d+)",), "max_num_batched_tokens": (r"max_num_tokens[=:\s]+(\d+)",),
    "max_model_len": (r"max_seq_len[=:\s]+(\d+)",), "total_gpu_gib": (r"paged kv cache: total: " + _NUMBER + r" GiB",),
    "gpu_blocks": (r"blocks in KV cache primary pool: (\d+)",), "block_size": (r"tokens per block: (\d+)",),
    "kv_avail_gib_per_gpu": (r"Allocated " + _NUMBER + r" GiB for max tokens in paged KV cache",),
    "kv_tokens": (r"for max tokens in paged KV cache \(" + _NUMBER + r"\)",),
}
_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "auto": "", "None": "",
            "none": ""}


def engine_of(text: str) -> str:
    """Which engine wrote a log."""
    if "TensorRT-LLM" in text or "paged KV cache" in text:
        return "TensorRT-LLM"
    if "ServerArgs(" in text or "mem_fraction_static" in text or "max_total_num_tokens" in text:
        return "SGLang"
    if "vllm" in text.lower() or "KV cache size" in text or "# GPU blocks" in text:
        return "vLLM"
    raise MissingFact("The text is not a start-up log of vLLM, SGLang or TensorRT-LLM.", fact="engine",
                      hint="Paste the lines from the engine's start to the first request.")


def read_engine_log(text: str) -> dict[str, str]:
    """The columns that a start-up log states; a group's log counts once, with its last value."""
    if len(text) > MOST_CHARACTERS:
        raise InvalidQuantity(f"The log has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read.",
                              pointer="text", hint="Paste the start-up part only.")
    engine = engine_of(text)
    patterns = {"vLLM": _VLLM, "SGLang": _SGLANG, "TensorRT-LLM": _TRTLLM}[engine]
    row = {"engine": engine}
    for column, choices in patterns.items():
        found = next((m for p in choices if (m := re.findall(p, text))), None)
        if found:
            row[column] = found[-1].replace(",", "").rstrip(".")
    return _tidied(row, text)


def _tidied(row: dict[str, str], text: str) -> dict[str, str]:
    """Formats under the planner's names; the compute dtype counts where nothing is quantised."""
    dtype = _FORMATS.get(row.pop("dtype", ""), "")
    kept = {k: _FORMATS.get(v, v) for k, v in row.items()}
    kept["weight_dtype"] = _quantised(kept.get("weight_dtype", "")) or dtype
    if kept.get("kv_dtype") == "":
        kept["kv_dtype"] = dtype if dtype != "fp32" else "fp32"
    if row["engine"] == "SGLang":
        kept.update(_sglang_pool(text))
    return {k: v for k, v in kept.items() if v}


def _quantised(method: str) -> str:
    """The format a quantisation method stores, where the method alone says so."""
    methods = {"awq": "int4", "awq_marlin": "int4", "gptq": "int4", "gptq_marlin": "int4", "fp8": "fp8",
               "modelopt": "fp8", "modelopt_fp4": "nvfp4", "mxfp4": "mxfp4", "compressed-tensors": ""}
    return methods.get(method, method)


def _sglang_pool(text: str) -> dict[str, str]:
    """K and V sizes add up to the pool."""
    sizes = re.findall(r"K size: " + _NUMBER + r" GB, V size: " + _NUMBER + r" GB", text)
    return {"kv_avail_gib_per_gpu": f"{float(sizes[-1][0]) + float(sizes[-1][1]):.4f}"} if sizes else {}
