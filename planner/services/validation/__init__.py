"""Predictions against measured runs: read, gate, predict, score, learn from a few own rows."""
