"""Kernels timed on the machine at hand and turned into a calibration record; the only part that knows torch."""
