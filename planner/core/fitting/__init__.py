"""Fits of efficiencies and overheads to measurements, with their spread."""
