"""The deterministic grammar of capacity questions: text in, request out, no language model behind it."""

from planner.services.parse.grammar import Grammar, Parsed
from planner.services.parse.vocabulary import ModelEntry, SkuEntry, Vocabulary

__all__ = ["Grammar", "ModelEntry", "Parsed", "SkuEntry", "Vocabulary"]
