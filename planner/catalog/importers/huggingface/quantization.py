"""The weight formats a checkpoint declares: ``quantization_config`` of every common tool, ignore lists included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from planner.catalog.importers.huggingface.skiplists import HEADS, PARTS, Names, Places, bare, names_of
from planner.core.architecture.model import WeightScheme
from planner.core.architecture.parts import Module
from planner.core.errors import InvalidQuantity, MissingFact

_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "bf16", "float": "bf16", "auto": "bf16",
           "bf16": "bf16", "fp16": "fp16", "fp32": "bf16"}  # engines load fp32 checkpoints in 16 bit by default
_LINEAR = tuple(PARTS)
_POINTER = "/config/quantization_config"
Config = Mapping[str, object]


def declared_dtype(config: Mapping[str, object]) -> str:
    """The 16-bit format a checkpoint without quantisation loads in."""
    value = config.get("dtype") or config.get("torch_dtype") or "bfloat16"
    text = str(value).removeprefix("torch.")
    if text not in _DTYPES:
        raise MissingFact(f"dtype {text[:40]!r} is not a format the planner knows.", fact="torch_dtype",
                          pointer="/config/torch_dtype")
    return _DTYPES[text]


def spread(base: str, found: str, skipped: Names, places: Places, *, head: bool = False) -> WeightScheme:
    """``found`` for the linear kinds that the list does not skip, ``base`` elsewhere."""
    overrides = {module: found for module in _LINEAR if module in places and not skipped.cover_most(module, places)}
    if head and not any(skipped.covers(name) for name in HEADS):
        overrides[Module.HEAD] = found
    return WeightScheme(default=base, overrides=overrides)


def scheme_of(config: Config, quantization: object, places: Places) -> WeightScheme:
    """The scheme a config declares; ``places`` are the checkpoint names of some of its layers."""
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
    return reader(base, quantization, places, config)


def cache_format_of(quantization: object) -> str | None:
    """The KV-cache format a checkpoint declares, or None."""
    if not isinstance(quantization, Mapping):
        return None
    scheme = quantization.get("kv_cache_scheme")
    if isinstance(scheme, Mapping) and scheme.get("num_bits") == 8:
        return "fp8" if scheme.get("type") == "float" else "int8"
    algorithm = str(quantization.get("kv_cache_quant_algo") or "").upper()
    return {"FP8": "fp8", "NVFP4": "nvfp4"}.get(algorithm)


def _fp8(base: str, q: Config, places: Places, config: Config) -> WeightScheme:
    skipped = names_of(q.get("modules_to_not_convert") or q.get("ignored_layers"))
    scheme = spread(base, "fp8_block" if q.get("weight_block_size") else "fp8", skipped, places)
    experts = str(q.get("moe_quant_algo") or config.get("expert_dtype") or q.get("expert_dtype") or "").lower()
    chosen = {"fp4": "mxfp4", "mxfp4": "mxfp4", "nvfp4": "nvfp4"}.get(experts)
    if chosen is None:
        return scheme
    return WeightScheme(default=scheme.default, overrides={**scheme.overrides, Module.EXPERTS: chosen})


def _grouped(bits: object, group: object) -> str:
    """Weight-only integer formats by bits and group size."""
    if bits == 8:
        return "w8a16"
    if bits == 4:
        size = group if isinstance(group, int) and group > 0 else 128
        return "w4a16" if size >= 128 else f"w4a16_g{size}"
    raise MissingFact(f"{bits!r}-bit weight-only quantisation is not modelled; known: 4 and 8 bits.",
                      fact="quantization_config.bits", pointer="/config/quantization_config/bits")


def _awq(base: str, q: Config, places: Places, config: Config) -> WeightScheme:
    del config
    skipped = names_of(q.get("modules_to_not_convert"))
    return spread(base, _grouped(q.get("bits", q.get("w_bit", 4)), q.get("group_size", q.get("q_group_size"))), skipped,
                  places)


def _gptq(base: str, q: Config, places: Places, config: Config) -> WeightScheme:
    del config
    dynamic = q.get("dynamic")
    names = [str(key)[2:] for key in dynamic if str(key).startswith("-:")] if isinstance(dynamic, Mapping) else []
    listed = q.get("modules_to_not_convert")
    skipped = names_of([*(f"re:{name}" for name in names), *(listed if isinstance(listed, list) else [])])
    return spread(base, _grouped(q.get("bits"), q.get("group_size")), skipped, places, head=bool(q.get("lm_head")))


def _mxfp4(base: str, q: Config, places: Places, config: Config) -> WeightScheme:
    del q, places, config
    return WeightScheme(default=base, overrides={Module.EXPERTS: "mxfp4"})


def _bitsandbytes(base: str, q: Config, places: Places, config: Config) -> WeightScheme:
    del config
    skipped = names_of(q.get("llm_int8_skip_modules"))
    if q.get("load_in_8bit") or q.get("_load_in_8bit"):
        return spread(base, "w8a16", skipped, places)
    # NF4 keeps one scale per 64 weights: fp32, or 8 bit when the scales are quantised themselves.
    return spread(base, "w4a16" if q.get("bnb_4bit_use_double_quant") else "w4a16_g32", skipped, places)


def _fbgemm(base: str, q: Config, places: Places, config: Config) -> WeightScheme:
    del config
    return spread(base, "fp8", names_of(q.get("modules_to_not_convert")), places)


_MODELOPT = {"FP8": "fp8", "NVFP4": "nvfp4", "FP8_PB_WO": "fp8_block", "W4A16_AWQ": "w4a16", "NVFP4_AWQ": "nvfp4",
             "FP8_PER_CHANNEL_PER_TOKEN": "fp8", "W4A8_NVFP4_FP8": "nvfp4", "INT8_SQ": "int8", "W8A16": "w8a16",
             "MXFP4": "mxfp4", "W4A8_MXFP4_FP8": "mxfp4", "W4A16_NVFP4": "nvfp4", "MXFP8": "fp8", "W4A8_AWQ": "w4a16"}


def _modelopt(base: str, q: Config, places: Places, config: Config) -> WeightScheme:
    del config
    inner = q.get("quantization")
    source: Config = inner if isinstance(inner, Mapping) else q
    algorithm = str(source.get("quant_algo") or "").upper()
    if algorithm == "MIXED_PRECISION":
        return _mixed(base, source, places)
    skipped = names_of(source.get("ignore") or source.get("exclude_modules"))
    return spread(base, _modelopt_format(algorithm), skipped, places, head=True)


def _modelopt_format(algorithm: str) -> str:
    if algorithm not in _MODELOPT:
        raise MissingFact(f"modelopt quant_algo {algorithm[:40]!r} is not modelled; known: {', '.join(_MODELOPT)}.",
                          fact="quantization_config.quant_algo", pointer=_POINTER + "/quant_algo")
    return _MODELOPT[algorithm]


def _mixed(base: str, source: Config, places: Places) -> WeightScheme:
    """Each kind of module in the format that most of its listed layers have."""
    listed = source.get("quantized_layers")
    if not isinstance(listed, Mapping):
        raise MissingFact("MIXED_PRECISION without quantized_layers.", fact="quantization_config.quantized_layers",
                          pointer=_POINTER + "/quantized_layers")
    found = {bare(str(name)): _modelopt_format(str(entry.get("quant_algo")).upper())
             for name, entry in listed.items() if isinstance(entry, Mapping)}
    overrides: dict[Module, str] = {}
    for module, layers in places.items():
        votes = Counter(found[name] for names in layers for name in names if name in found)
        if votes:
            overrides[module] = votes.most_common(1)[0][0]
    heads = [found[name] for name in HEADS if name in found]
    return WeightScheme(default=base, overrides={**overrides, **({Module.HEAD: heads[0]} if heads else {})})


def _compressed(base: str, q: Config, places: Places, config: Config) -> WeightScheme:
    del config
    groups = q.get("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        raise MissingFact("compressed-tensors without config_groups.", fact="quantization_config.config_groups",
                          pointer="/config/quantization_config/config_groups")
    ignored = names_of(q.get("ignore"))
    overrides: dict[Module, str] = {}
    for group in list(groups.values())[:64]:
        if not isinstance(group, Mapping):
            raise InvalidQuantity("A config group must be an object.",
                                  pointer="/config/quantization_config/config_groups")
        name = _compressed_format(group, str(group.get("format") or q.get("format") or ""))
        targets = group.get("targets") or ["Linear"]
        made = spread(base, name, ignored, places, head=True).overrides
        chosen = names_of(targets)
        everything = "Linear" in targets if isinstance(targets, list) else True
        overrides |= {module: value for module, value in made.items()
                      if everything or (module is not Module.HEAD and chosen.cover_most(module, places))}
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


def _quark(base: str, q: Config, places: Places, config: Config) -> WeightScheme:
    del config
    inner = q.get("global_quant_config")
    weight = inner.get("weight") if isinstance(inner, Mapping) else None
    weight = weight[0] if isinstance(weight, list) and weight else weight
    dtype = str(weight.get("dtype")) if isinstance(weight, Mapping) else ""
    formats = {"fp8_e4m3": "fp8", "fp4": "mxfp4", "int8": "int8", "int4": "w4a16"}
    if dtype not in formats:
        raise MissingFact(f"quark weight dtype {dtype[:40]!r} is not modelled.",
                          fact="quantization_config.global_quant_config", pointer="/config/quantization_config")
    return spread(base, formats[dtype], names_of(q.get("exclude")), places)


_Reader = Callable[[str, Config, Places, Config], WeightScheme]
_METHODS: Mapping[str, _Reader] = {
    "fp8": _fp8, "awq": _awq, "gptq": _gptq, "auto-round": _gptq, "mxfp4": _mxfp4, "fbgemm-fp8": _fbgemm,
    "bitsandbytes": _bitsandbytes, "modelopt": _modelopt, "modelopt-fp4": _modelopt, "nvfp4": _modelopt,
    "compressed-tensors": _compressed, "quark": _quark,
}
