"""Readers of what others publish about a model: configs, weight files, engine logs."""
