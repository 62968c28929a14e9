"""LLM serving capacity planner: operators describe, ceilings bound, execution times."""

__version__ = "0.1.0"
