"""Adapters that bring the built-in catalogue and others' files in: models, chips, prices, profiles, names."""
