"""Frontiers: speed per user against throughput per GPU, splits into pools, and what prefixes and drafts change."""
