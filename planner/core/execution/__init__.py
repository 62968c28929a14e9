"""How long the operators take under the ceilings: roofline, overlap, overheads, steps."""
