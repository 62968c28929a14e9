"""Names of modules in quantisation lists, in the dialects the tools use: exact, parents, globs, regular expressions."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.core.architecture.parts import Module
from planner.core.errors import InvalidQuantity

Places = Mapping[Module, Sequence[Sequence[str]]]
"""For each kind of module, a few layers that have it, each with every name checkpoints give its matrices."""

PARTS: Mapping[Module, tuple[str, ...]] = {
    Module.ATTENTION: ("self_attn.q_proj", "self_attn.o_proj", "self_attn.qkv_proj", "self_attn.q_a_proj",
                       "self_attention.query_key_value", "attn.c_attn", "attn.wq_b", "mixer.in_proj", "mixer.q_proj",
                       "linear_attn.out_proj", "mamba.in_proj"),
    Module.MLP: ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "mlp.gate_up_proj", "feed_forward.w1",
                 "mixer.up_proj", "feed_forward.gate_proj"),
    Module.EXPERTS: ("mlp.experts.0.gate_proj", "mlp.experts.0.down_proj", "mlp.experts", "experts.0.gate_proj",
                     "experts", "block_sparse_moe.experts.0.w1", "block_sparse_moe.experts",
                     "feed_forward.experts.0.gate_proj", "feed_forward.experts", "ffn.experts.0.w1", "ffn.experts",
                     "mixer.experts.0.up_proj", "mixer.experts"),
    Module.SHARED_EXPERTS: ("mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj",
                            "mlp.shared_experts.down_proj", "feed_forward.shared_expert.gate_proj",
                            "ffn.shared_experts.w1", "mixer.shared_experts.up_proj",
                            "block_sparse_moe.shared_experts.gate_proj"),
}
HEADS = ("lm_head", "head", "output")
_WRAPPING = re.compile(r"^(?:(?:model|language_model|thinker|llm)\.)+")
_PREFIXES = ("", "model.", "language_model.", "language_model.model.", "model.language_model.")
_ANY = ("",)
_LEADING = (".*", "(?s:.*")  # such a pattern takes any wrapper by itself
_MOST_PATTERNS = 200_000  # per-layer, per-expert lists of the largest checkpoints stay below
_LONGEST_PATTERN = 300
_POINTER = "/config/quantization_config"


def bare(name: str) -> str:
    """A module's name without the wrappers a multimodal checkpoint adds."""
    return _WRAPPING.sub("", name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """A list of modules."""

    exact: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]
    """Matched from the start of whole names, whatever their wrappers."""

    def covers(self, name: str) -> bool:
        """Whether the name, a parent of it, or a run of its parts is listed."""
        if self.exact:
            parts = name.split(".")
            if any(".".join(parts[start:end]) in self.exact for start in range(len(parts))
                   for end in range(start + 1, len(parts) + 1)):
                return True
        return any(pattern.match(prefix + name) for pattern in self.patterns
                   for prefix in (_ANY if pattern.pattern.startswith(_LEADING) else _PREFIXES))

    def cover_most(self, module: Module, places: Places) -> bool:
        """Whether most layers that have this kind of module list it."""
        layers = places.get(module, ())
        if not layers or not (self.exact or self.patterns):
            return False
        votes = sum(any(self.covers(name) for name in names) for names in layers)
        return votes * 2 > len(layers)


def names_of(listed: object) -> Names:
    """The list of a config, bounded."""
    if listed is None:
        listed = ()
    if isinstance(listed, str) or not isinstance(listed, Sequence) or len(listed) > _MOST_PATTERNS:
        raise InvalidQuantity(f"A quantisation list must be a list of at most {_MOST_PATTERNS} names.",
                              pointer=_POINTER)
    exact, patterns = set(), []
    for entry in dict.fromkeys(str(name)[:_LONGEST_PATTERN] for name in listed):
        if entry.startswith("re:"):
            patterns.append(_compiled(entry[3:]))
        elif entry.endswith("*") and "*" not in entry[:-1] and entry[:-1]:
            exact.add(bare(entry[:-1].rstrip(".")))
        elif "*" in entry:
            patterns.append(re.compile(fnmatch.translate(entry)))
        else:
            exact.add(bare(entry.rstrip(".")))
    return Names(exact=frozenset(exact), patterns=tuple(patterns))


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidQuantity(f"Quantisation pattern {text[:60]!r} is not a regular expression: {error}.",
                              pointer=_POINTER) from error
