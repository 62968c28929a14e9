"""Serving: steady state under load, percentiles, objectives, frontiers, what-ifs."""
