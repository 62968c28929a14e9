"""Where the memory goes: weights on a rank, cache per sequence, what engines reserve, and what fits."""
