import pytest

from planner.catalog import indexes
from planner.catalog.chips import built_in_chips
from planner.catalog.indexes import built_in_sku_names, model_names
from planner.catalog.names import Entry, NameIndex
from planner.core.errors import AdapterError, Ambiguous, NotFound
from planner.tests.effort import lines

IDS = ("meta-llama/llama-3.1-70b", "meta-llama/llama-3.1-8b", "meta-llama/llama-3.3-70b-instruct",
       "meta-llama/meta-llama-3-70b", "qwen/qwen2.5-7b", "qwen/qwen2.5-7b-instruct", "qwen/qwen2.5-72b",
       "qwen/qwen3-235b-a22b", "qwen/qwen3-235b-a22b-fp8", "mistralai/mixtral-8x7b-v0.1",
       "mistralai/mixtral-8x22b-v0.1", "mistralai/mistral-7b-v0.1", "mistralai/mistral-7b-v0.3",
       "mistralai/mistral-7b-instruct-v0.2", "meta-llama/llama-4-scout-17b-16e-instruct",
       "redhatai/llama-4-scout-17b-16e-instruct-fp8-dynamic", "deepseek-ai/deepseek-v3", "deepseek-ai/deepseek-r1",
       "moonshotai/kimi-k2-instruct", "zai-org/glm-5", "google/gemma-3-27b-it", "google/gemma-2-27b",
       "nvidia/llama-3_3-nemotron-super-49b-v1", "nvidia/nvidia-nemotron-3-nano-30b-a3b-bf16", "openai/gpt-oss-120b")
MODELS = model_names((i, ()) for i in IDS)
SKUS = built_in_sku_names()


@pytest.mark.parametrize(("text", "identifier", "weights", "warned"), [
    ("meta-llama/Llama-3.1-70B", "meta-llama/llama-3.1-70b", None, False),
    ("llama-3.1-70b", "meta-llama/llama-3.1-70b", None, False),
    (" Llama 3.1 70B ", "meta-llama/llama-3.1-70b", None, False),
    ("meta-llama/Llama-3.1-70B-Instruct", "meta-llama/llama-3.1-70b", None, True),
    ("llama-3.3-70b", "meta-llama/llama-3.3-70b-instruct", None, False),
    ("Qwen/Qwen2.5-7B", "qwen/qwen2.5-7b", None, False),
    ("Qwen/Qwen2.5-7B-Instruct", "qwen/qwen2.5-7b-instruct", None, False),
    ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", "qwen/qwen2.5-7b-instruct", "w8a16", True),
    ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "qwen/qwen2.5-72b", "w4a16", True),
    ("Qwen/Qwen2.5-72B-Instruct-AWQ", "qwen/qwen2.5-72b", "w4a16", True),
    ("unsloth/Qwen2.5-72B-Instruct-bnb-4bit", "qwen/qwen2.5-72b", "w4a16", True),
    ("nvidia/Llama-3.3-70B-Instruct-NVFP4", "meta-llama/llama-3.3-70b-instruct", "nvfp4", True),
    ("nvidia/Qwen3-235B-A22B-FP4", "qwen/qwen3-235b-a22b", "nvfp4", True),
    ("Qwen/Qwen3-235B-A22B-FP8", "qwen/qwen3-235b-a22b-fp8", None, False),
    ("nvidia/Qwen3-235B-A22B-FP8", "qwen/qwen3-235b-a22b-fp8", None, True),
    ("Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen/qwen3-235b-a22b", None, True),
    ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "meta-llama/llama-3.1-8b", "int8", True),
    ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "meta-llama/llama-3.1-8b", "w4a16", True),
    ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a16", "meta-llama/llama-3.1-8b", "w8a16", True),
    ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "meta-llama/llama-3.3-70b-instruct", "fp8", True),
    ("amd/Llama-3.1-70B-Instruct-FP8-KV", "meta-llama/llama-3.1-70b", "fp8", True),
    ("RedHatAI/Llama-3.3-70B-Instruct-FP8-block", "meta-llama/llama-3.3-70b-instruct", "fp8_block", True),
    ("Llama-3.1-8B Q4_K_M", "meta-llama/llama-3.1-8b", "gguf:q4_k_m", True),
    ("llama-4-scout-17b-16e", "meta-llama/llama-4-scout-17b-16e-instruct", None, False),
    ("scout", "meta-llama/llama-4-scout-17b-16e-instruct", None, False),
    ("mixtral-8x7b", "mistralai/mixtral-8x7b-v0.1", None, False),
    ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mistralai/mixtral-8x7b-v0.1", None, True),
    ("mistral-7b", "mistralai/mistral-7b-v0.1", None, False),
    ("dsv3", "deepseek-ai/deepseek-v3", None, False),
    ("deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-ai/deepseek-v3", None, True),
    ("nvidia/DeepSeek-V3.1-NVFP4", "deepseek-ai/deepseek-v3", "nvfp4", True),
    ("moonshotai/Kimi-K2-Thinking", "moonshotai/kimi-k2-instruct", "w4a16", True),
    ("zhipuai/GLM-5", "zai-org/glm-5", None, True),
    ("RedHatAI/DeepSeek-R1-Distill-Llama-70B-quantized.w8a8", "meta-llama/llama-3.3-70b-instruct", "int8", True),
    ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "meta-llama/llama-3.1-70b", "w4a16", True),
    ("llama-3.3-nemotron-super-49b-v1", "nvidia/llama-3_3-nemotron-super-49b-v1", None, False),
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8", "nvidia/nvidia-nemotron-3-nano-30b-a3b-bf16", "fp8", True),
])
def test_model_names(text, identifier, weights, warned):
    found = MODELS.resolve(text)
    assert (found.id, found.weights, found.warning is not None) == (identifier, weights, warned)
    if warned:
        assert identifier in str(found.warning)


@pytest.mark.parametrize("text", ["mixtral", "llama", "qwen2.5"])
def test_ambiguous_names_list_their_candidates(text):
    with pytest.raises(Ambiguous) as error:
        MODELS.resolve(text)
    assert len(error.value.candidates) > 1


def test_the_organisation_named_decides_between_two_copies():
    index = NameIndex([Entry(id="a/model-7b"), Entry(id="b/model-7b"), Entry(id="a/model-7b-fp8")], kind="model")
    assert index.resolve("A/Model-7B-Instruct").id == "a/model-7b"
    assert index.resolve("model-7b-fp8").id == "a/model-7b-fp8"
    with pytest.raises(Ambiguous):
        index.resolve("model-7b")


@pytest.mark.parametrize("text", ["Qwen/Qwen3.8-27B", "llama-3.1-71b", "qwen2.5-8b", "gemma-3-9b", "", "x" * 500])
def test_unknown_names_are_not_found_and_never_substituted(text):
    with pytest.raises(NotFound):
        MODELS.resolve(text)


def test_the_closest_names_are_offered():
    with pytest.raises(NotFound) as error:
        MODELS.resolve("lama-3.1-70b")
    assert "meta-llama/llama-3.1-70b" in error.value.candidates
    with pytest.raises(NotFound) as error:
        SKUS.resolve("mi399x")
    assert error.value.candidates


@pytest.mark.parametrize(("text", "sku"), [
    ("h100", "h100-sxm-80gb"), ("H100-SXM-80GB", "h100-sxm-80gb"), ("H100-80GB", "h100-sxm-80gb"),
    ("h100_sxm", "h100-sxm-80gb"), ("NVIDIA H100 80GB HBM3", "h100-sxm-80gb"), ("H100-PCIe-80GB", "h100-pcie-80gb"),
    ("H100-NVL-94GB", "h100-nvl-94gb"), ("A100", "a100-sxm-80gb"), ("A100-40GB", "a100-sxm-40gb"),
    ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"), ("H200-SXM", "h200-sxm-141gb"), ("H200-NVL", "h200-nvl-141gb"),
    ("B200", "b200-sxm-180gb"), ("b300_sxm", "b300-sxm-288gb"), ("GB200", "gb200-186gb"), ("gb300", "gb300-288gb"),
    ("GH200-480GB", "gh200-96gb"), ("GB10", "dgx-spark-128gb"), ("spark", "dgx-spark-128gb"), ("mi300", "mi300x-192gb"),
    ("MI250X-GCD", "mi250x-gcd-64gb"), ("RTX4090", "rtx-4090-24gb"), ("NVIDIA GeForce RTX 4090", "rtx-4090-24gb"),
    ("RTX3090Ti", "rtx-3090-ti-24gb"), ("RTXA6000", "rtx-a6000-48gb"), ("RTX6000Ada", "rtx-6000-ada-48gb"),
    ("RTXPRO6000-BSE", "rtx-pro-6000-server-96gb"), ("rtx_pro_6000_server", "rtx-pro-6000-server-96gb"),
    ("H20-96GB", "h20-96gb"), ("H20-141GB", "h20-141gb"), ("JetsonAGXOrin-64GB", "jetson-agx-orin-64gb"),
    ("AppleM2Ultra-76c", "m2-ultra-192gb"), ("RX7900XTX", "rx-7900-xtx-24gb"), ("l40s", "l40s-48gb"),
    ("AMD Instinct MI355X", "mi355x-288gb"), ("A10G", "a10g-24gb"), ("L4-24GB", "l4-24gb")])
def test_sku_names(text, sku):
    assert SKUS.resolve(text).id == sku


def test_an_ambiguous_sku_lists_its_parts():
    with pytest.raises(Ambiguous) as error:
        SKUS.resolve("V100")
    assert len(error.value.candidates) == 4


def test_each_slug_vendor_name_and_alias_resolves_to_its_own_entry():
    for entry in built_in_chips().entries():
        for text in (entry.chip.id, entry.chip.name, *entry.aliases):
            assert SKUS.resolve(text).id == entry.chip.id


def test_memory_of_names_is_bounded(monkeypatch):
    monkeypatch.setattr("planner.catalog.names._REMEMBERED", 1)
    fresh = model_names((i, ()) for i in IDS)
    assert [fresh.resolve(text).id for text in ("scout", "dsv3", "scout", "dsv3")] == [
        fresh.resolve("scout").id, "deepseek-ai/deepseek-v3"] * 2
    assert len(fresh._known) == 1


@pytest.mark.parametrize("text", ["llama-3.1-70b", "unsloth/Qwen2.5-72B-Instruct-bnb-4bit"])
def test_a_name_met_before_is_one_look_up(text):
    fresh = model_names((i, ()) for i in IDS)
    assert fresh.resolve(text) is fresh.resolve(text)
    assert lines(lambda: fresh.resolve(text)) <= 8


def test_a_broken_alias_file_is_reported(tmp_path, monkeypatch):
    (tmp_path / "aliases.toml").write_text('[[model]]\nid="a"\n[[model.same_as]]\nname="b"\n')
    monkeypatch.setattr(indexes, "catalog_root", lambda: tmp_path)
    indexes._model_aliases.cache_clear()
    with pytest.raises(AdapterError, match="same_as needs name and note"):
        model_names([("a", ())])
    indexes._model_aliases.cache_clear()
