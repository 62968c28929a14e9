"""Sweeps: one plan question over axes, answered in columns."""
