"""What is asked of a deployment: prompt and answer lengths, how many at once or how many a second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Request lengths and load of one replica; exactly one of concurrency and rate is given."""

    input_tokens: float
    """Mean prompt length [token]."""
    output_tokens: float
    """Mean answer length [token]."""
    concurrency: float | None = None
    """Requests in flight, closed loop [1]."""
    request_rate: float | None = None
    """Arrivals, open loop [1/s]."""
    context_tokens: float | None = None
    """Overrides the mean context a decode step sees [token]."""
    batch: float | None = None
    """Overrides the sequences a decode step advances [1]."""
    prefix_cache_hit: float = 0.0
    """Share of prompt tokens found in the prefix cache [1]."""
    input_cv: float = 0.0
    """Coefficient of variation of prompt lengths [1]."""
    output_cv: float = 0.0
    """Coefficient of variation of answer lengths [1]."""
    arrival_cv: float = 1.0
    """Coefficient of variation of gaps between arrivals; 1 is Poisson [1]."""
