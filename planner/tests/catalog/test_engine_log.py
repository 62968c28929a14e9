"""Start-up logs in the engines' own words, read into columns."""

import pytest

from planner.catalog.importers.engine_log import MOST_CHARACTERS, read_engine_log
from planner.core.errors import InvalidQuantity, MissingFact

# Line shapes of the engines' loggers with figures of public runs (see planner/tests/data/engine_logs.csv, kv018, kv070,
# kv132 and kv142); paths and times are made up.
VLLM_V1 = """
INFO 11-02 10:00:01 [core.py:65] Initializing a V1 LLM engine (v0.19.0) with config: \
model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=8192, \
tensor_parallel_size=1, pipeline_parallel_size=1, \
quantization=None, kv_cache_dtype=auto, enable_prefix_caching=False
INFO 11-02 10:00:02 Chunked prefill is enabled with max_num_batched_tokens=8192.
INFO 11-02 10:01:01 [gpu_model_runner.py] Model loading took 14.99 GiB memory and 12.2 seconds
INFO 11-02 10:01:31 [gpu_worker.py] Available KV cache memory: 58.11 GiB
INFO 11-02 10:01:31 [kv_cache_utils.py] GPU KV cache size: 476,016 tokens
INFO 11-02 10:01:31 [kv_cache_utils.py] Maximum concurrency for 8,192 tokens per request: 58.11x
INFO 11-02 10:01:58 [gpu_model_runner.py] Graph capturing finished in 20 secs, took 0.91 GiB
"""
VLLM_V0 = """
INFO 01-02 vLLM API server version 0.6.4
INFO 01-02 args: Namespace(model='meta-llama/Llama-3.1-8B-Instruct', max_model_len=20000, tensor_parallel_size=1, \
gpu_memory_utilization=0.9, block_size=16, kv_cache_dtype='auto', quantization=None, dtype='bfloat16')
INFO 01-02 the current vLLM instance can use total_gpu_memory (23.58GiB) x gpu_memory_utilization (0.90) = 21.22GiB
model weights take 14.99GiB; non_torch_memory takes 0.35GiB; PyTorch activation peak memory takes 2.07GiB; \
the rest of the memory reserved for KV Cache is 3.81GiB.
INFO 01-02 # GPU blocks: 1952, # CPU blocks: 2048
INFO 01-02 Maximum concurrency for 20000 tokens per request: 1.56x
"""
SGLANG = """
server_args=ServerArgs(model_path='Qwen/Qwen3.5-9B', tp_size=2, pp_size=1, mem_fraction_static=0.8,
context_length=262144, max_running_requests=62, chunked_prefill_size=2048, kv_cache_dtype='auto', quantization=None)
[TP0] Load weight end. type=Qwen3_5, dtype=torch.bfloat16, avail mem=14.08 GB, mem usage=8.85 GB.
[TP0] KV Cache is allocated. #tokens: 327310, K size: 2.50 GB, V size: 2.50 GB
"""
TRTLLM = """
[TensorRT-LLM] TensorRT-LLM version: 0.19.0
[TRT-LLM] [I] max_batch_size=2048 max_num_tokens=1024 max_seq_len=2048 tp_size=1 free_gpu_memory_fraction: 0.9
[TRT-LLM] [I] Memory usage when calculating max tokens in paged kv cache: total: 31.84 GiB, available: 17.83 GiB
[TRT-LLM] [I] Number of blocks in KV cache primary pool: 8219
[TRT-LLM] [I] Number of tokens per block: 32.
[TRT-LLM] [I] [MemUsageChange] Allocated 16.05 GiB for max tokens in paged KV cache (263008).
"""


def test_vllm_one():
    assert read_engine_log(VLLM_V1) == {
        "engine": "vLLM", "engine_version": "0.19.0", "model": "meta-llama/Llama-3.1-8B-Instruct", "tp": "1", "pp": "1",
        "max_model_len": "8192", "max_num_batched_tokens": "8192", "weight_dtype": "bf16", "kv_dtype": "bf16",
        "weights_gib_per_gpu": "14.99", "kv_avail_gib_per_gpu": "58.11", "kv_tokens": "476016",
        "max_concurrency": "58.11", "cuda_graph_gib": "0.91"}


def test_vllm_zero():
    row = read_engine_log(VLLM_V0)
    assert row["engine_version"] == "0.6.4"
    assert (row["total_gpu_gib"], row["mem_util"], row["weights_gib_per_gpu"]) == ("23.58", "0.90", "14.99")
    assert (row["non_torch_gib"], row["activation_gib"], row["kv_avail_gib_per_gpu"]) == ("0.35", "2.07", "3.81")
    assert (row["gpu_blocks"], row["max_concurrency"], row["block_size"]) == ("1952", "1.56", "16")


def test_sglang():
    row = read_engine_log(SGLANG)
    assert (row["engine"], row["model"], row["tp"], row["mem_util"]) == ("SGLang", "Qwen/Qwen3.5-9B", "2", "0.8")
    assert (row["weights_gib_per_gpu"], row["kv_tokens"]) == ("8.85", "327310")
    assert float(row["kv_avail_gib_per_gpu"]) == 5.0


def test_tensorrt_llm():
    row = read_engine_log(TRTLLM)
    assert (row["engine"], row["gpu_blocks"], row["block_size"], row["kv_tokens"]) == ("TensorRT-LLM", "8219", "32",
                                                                                       "263008")
    assert (row["total_gpu_gib"], row["mem_util"], row["kv_avail_gib_per_gpu"]) == ("31.84", "0.9", "16.05")


@pytest.mark.parametrize(("method", "stored"), [("fp8", "fp8"), ("awq_marlin", "int4"), ("modelopt_fp4", "nvfp4"),
                                                ("compressed-tensors", "bf16")])
def test_quantisation_methods(method, stored):
    row = read_engine_log(VLLM_V1.replace("quantization=None", f"quantization={method}"))
    assert row["weight_dtype"] == stored


def test_what_is_no_log_is_refused():
    with pytest.raises(MissingFact, match="not a start-up log"):
        read_engine_log("hello")
    with pytest.raises(InvalidQuantity, match="at most"):
        read_engine_log("vllm " * MOST_CHARACTERS)
