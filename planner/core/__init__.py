"""Pure planning core: value types and formulas, SI units, numpy only."""
