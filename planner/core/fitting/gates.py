"""Which measured runs say nothing about steady serving, each with its reason; no gate ever sees a prediction.

Rules follow what is visible in the rows themselves: copies, impossible rates, labels that give no layout, speculation
that a twin row reveals, start-up and overload.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from planner.core.fitting.measured import Load, MeasuredRow

_COLD_TTFT = 4.0  # [s] no prompt queue of the size below takes as long on any of the accelerators measured
_COLD_TOKENS = 66_000  # [token] prompts in flight
_QUEUE_TTFT = 20.0  # [s] first tokens this late waited for a place
_LONG_ANSWER = 512  # [token] an answer long enough that its own decoding dwarfs a prompt
_TWIN_RATIO = 0.9  # a twin this much faster is more than run-to-run noise (2-10 %)
_TWINS = 5  # twin pairs a batch of rows needs before it is judged
_PREFILL_SHARE = 0.55  # of the peak, in whole runs; the largest seen without a prompt cache is 0.49
_PREFILL_ROWS = 0.3  # of a group

Gates = dict[int, str]
"""Row number → reason."""


def gate_rows(rows: Sequence[MeasuredRow], *, same_model: Callable[[str], str], prompt_work: Mapping[int, float],
              fastest: Mapping[int, float]) -> Gates:
    """Reasons by row number; a row has one reason, the first that applies.

    Parameters
    ----------
    rows : sequence of MeasuredRow
        One file.
    same_model : callable
        Model name → label of its architecture, equal for checkpoints that compute the same.
    prompt_work : mapping
        Row number → FLOP per prompt token over the replica's peak [s/token]; rows without it are not judged by rate.
    fastest : mapping
        Row number → least time of a decode step at datasheet ceilings and one sequence [s].

    Returns
    -------
    dict
        Row number → reason.
    """
    found: Gates = {}
    for rule in (_labels, _duplicates, lambda r: _hidden_speculation(r, same_model), _cold_start, _queue_limited,
                 lambda r: _physics(r, fastest), lambda r: _prefill_rate(r, prompt_work)):
        for number, reason in rule([row for row in rows if row.number not in found]).items():
            found.setdefault(number, reason)
    return found


def _labels(rows: Sequence[MeasuredRow]) -> Gates:
    found = {row.number: "topology_not_reconstructable" for row in rows if row.problem}
    found |= {row.number: "speculative_decoding" for row in rows if row.speculative}
    return found


def _duplicates(rows: Sequence[MeasuredRow]) -> Gates:
    """Later copies of a row, and copies that were rounded to two digits of a millisecond."""
    seen: set[tuple[object, ...]] = set()
    found: Gates = {}
    for row in rows:
        key = (row.configuration, row.tpot, row.ttft, row.rate)
        if key in seen:
            found[row.number] = "duplicate"
        seen.add(key)
    full = {(row.configuration, _rounded(row)) for row in rows if not _is_rounded(row)}
    for row in rows:
        if row.number not in found and row.tpot is not None and _is_rounded(row) and (
                row.configuration, _rounded(row)) in full:
            found[row.number] = "rounded_duplicate"
    return found


def _rounded(row: MeasuredRow) -> tuple[float | None, float | None]:
    return tuple(None if v is None else round(v * 1e3, 2) for v in (row.tpot, row.ttft))  # type: ignore[return-value]  # two values


def _is_rounded(row: MeasuredRow) -> bool:
    return all(v is None or abs(round(v * 1e3, 2) - v * 1e3) < 1e-9 for v in (row.tpot, row.ttft))


def _hidden_speculation(rows: Sequence[MeasuredRow], same_model: Callable[[str], str]) -> Gates:
    """Batches of rows much faster than twins of the same architecture and configuration under another name."""
    slowest: dict[tuple[object, ...], dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row.tpot is not None:
            entry = slowest[_twin(row, same_model)]
            entry[row.model] = max(entry.get(row.model, 0.0), row.tpot)
    ratios: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for row in rows:
        others = [t for m, t in slowest[_twin(row, same_model)].items() if m != row.model] if row.tpot else []
        if row.tpot is not None and others:
            ratios[_batch(row)].append(row.tpot / max(others))
    fast = {batch for batch, values in ratios.items() if len(values) >= _TWINS and median(values) < _TWIN_RATIO}
    return {row.number: "hidden_speculation" for row in rows if _batch(row) in fast}


def _twin(row: MeasuredRow, same_model: Callable[[str], str]) -> tuple[object, ...]:
    return (same_model(row.model), *row.configuration[1:])


def _batch(row: MeasuredRow) -> tuple[object, ...]:
    return (row.model, row.sku, row.engine_label, row.weights, row.date)


def _cold_start(rows: Sequence[MeasuredRow]) -> Gates:
    return {row.number: "cold_start" for row in rows
            if row.load is Load.CLOSED and row.ttft is not None and row.ttft > _COLD_TTFT
            and row.input_tokens * row.concurrency <= _COLD_TOKENS}


def _queue_limited(rows: Sequence[MeasuredRow]) -> Gates:
    found: Gates = {}
    for row in rows:
        if row.load is not Load.CLOSED or row.ttft is None:
            continue
        decoding = None if row.tpot is None else row.output_tokens * row.tpot
        waits = decoding is not None and row.output_tokens >= _LONG_ANSWER and row.ttft > decoding
        if waits or row.ttft > _QUEUE_TTFT:
            found[row.number] = "queue_limited"
    return found


def _physics(rows: Sequence[MeasuredRow], fastest: Mapping[int, float]) -> Gates:
    return {row.number: "faster_than_physics" for row in rows
            if row.tpot is not None and row.tpot < fastest.get(row.number, 0.0)}


def _prefill_rate(rows: Sequence[MeasuredRow], prompt_work: Mapping[int, float]) -> Gates:
    """Groups whose prompts would need more arithmetic than the chips do: cached prompts or several replicas."""
    groups: dict[str, list[MeasuredRow]] = defaultdict(list)
    for row in rows:
        if row.number in prompt_work and row.tpot is not None and row.ttft is not None and row.load is Load.CLOSED:
            groups[row.group].append(row)
    found: Gates = {}
    for members in groups.values():
        high = sum(_utilisation(row, prompt_work[row.number]) > _PREFILL_SHARE for row in members)
        if high > _PREFILL_ROWS * len(members):
            found |= {row.number: "impossible_prefill_rate" for row in members}
    return found


def _utilisation(row: MeasuredRow, work: float) -> float:
    """Share of the peak that the run's prompts alone used."""
    span = (row.ttft or 0.0) + row.output_tokens * (row.tpot or 0.0)
    return row.concurrency * row.input_tokens / span * work
