"""Simulation: continuous batching, step by step or event by event, on a step-time table."""
