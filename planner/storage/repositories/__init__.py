"""The ports over SQL."""
