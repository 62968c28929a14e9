"""What users bring along: configs, weight indexes, GGUF files and engine logs, set beside what is predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO

from planner.core.architecture.model import Model, ModelCard
from planner.core.errors import AdapterError, InvalidQuantity, MissingFact, PlannerError
from planner.core.hardware.chip import Chip
from planner.core.quantities.units import GIB
from planner.services.catalog import CatalogService
from planner.services.memory_logs import (
    Budget,
    Capacity,
    Setup,
    capacity_of,
    number,
    predicted_budget,
    predicted_reserve,
    predicted_weights,
    setup_of,
)

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """Readers of foreign files, given by the catalogue."""

    config: Callable[[Document, str], Model]
    index: Callable[[Document], Any]
    header: Callable[[Document], Any]
    gguf: Callable[[BinaryIO], Any]
    log: Callable[[str], dict[str, str]]
    describe: Callable[[Model | ModelCard], Document]


class ImportService:
    """Reads what users bring."""

    def __init__(self, catalog: CatalogService, readers: Readers) -> None:
        self._catalog, self._read = catalog, readers

    def config(self, document: Document, name: str) -> dict[str, Any]:
        """Return what a config.json counts to."""
        return {"id": name, **self._read.describe(self._read.config(document, name))}

    def weights(self, document: Document) -> dict[str, Any]:
        """Return the exact bytes of a safetensors index or header."""
        reader = self._read.index if "weight_map" in document else self._read.header
        with _as_question():
            return asdict(reader(document))

    def gguf(self, stream: BinaryIO) -> dict[str, Any]:
        """Return the model of a GGUF file's front, and its exact bytes by tensor type."""
        with _as_question():
            found = self._read.gguf(stream)
        return {"id": found.model.id, **self._read.describe(found.model), "files": {
            "total_bytes": found.total_bytes, "bytes_by_module": dict(found.bytes_by_module),
            "bytes_by_dtype": dict(found.bytes_by_type), "unexplained_elements": found.unexplained_elements}}

    def log(self, text: str, given: Mapping[str, str], workspace: str) -> dict[str, Any]:
        """Return a start-up log's capacity, observed against predicted, line by line."""
        row = {**self._read.log(text), **{k: v for k, v in given.items() if v}}
        if not row.get("model"):
            raise MissingFact("The log does not name its model.", fact="model", pointer="/model",
                              hint="Give model beside text.")
        row.setdefault("tp", "1")
        setup = setup_of(row, lambda name: self._model(name, workspace), lambda name: self._chip(name, workspace))
        lines, learned = compared(setup, row)
        return {"row": row, "lines": lines, "learned": learned,
                "warnings": [] if setup.chip else ["The log does not say which GPU it ran on: give sku."]}

    def _model(self, name: str, workspace: str) -> tuple[Model | ModelCard, str | None]:
        found = self._catalog.model(name.rstrip("/").removeprefix("./"), workspace)
        return found.value, found.weights

    def _chip(self, name: str, workspace: str) -> Chip:
        return self._catalog.sku(name, workspace).value


@contextmanager
def _as_question() -> Iterator[None]:
    """A file that a user sent and that cannot be read is a bad question, not a failure of ours."""
    try:
        yield
    except AdapterError as error:
        raise InvalidQuantity(error.detail, hint=error.hint, pointer="") from error


def learned_profile(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The calibration document that keeps what a log taught."""
    learned = answer["learned"]
    if learned is None or learned["sku"] is None:
        raise MissingFact("The log teaches no reserve: it lacks weights, pool, utilisation or its GPU.",
                          fact="learned", pointer="/save_as", hint="Give sku, memory_utilization and the whole log.")
    today = datetime.now(UTC).date().isoformat()
    return {"id": name, "sku": learned["sku"], "engine": learned["engine"], "measured_on": today,
            "name": f"{learned['engine']} start-up log on {learned['sku']}",
            "record": {"measured_on": today, "device": {"name": learned["sku"]}, "memory": dict(learned)}}


def compared(setup: Setup, row: Mapping[str, str]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Observed against predicted, and the overhead the log teaches about this engine on this GPU."""
    pieces = _predicted_pieces(setup)
    observed: dict[str, float | None] = {
        "weights_bytes": _bytes(row, "weights_gib_per_gpu"), "activation_bytes": _bytes(row, "activation_gib"),
        "other_bytes": _bytes(row, "non_torch_gib"), "graph_bytes": _bytes(row, "cuda_graph_gib"),
        "kv_pool_bytes": _bytes(row, "kv_avail_gib_per_gpu"), "kv_blocks": number(row, "gpu_blocks"),
        "kv_capacity_tokens": number(row, "kv_tokens"), "max_concurrency": number(row, "max_concurrency")}
    lines = [_line(name, seen, pieces.get(name)) for name, seen in observed.items()
             if seen is not None or name in pieces]
    pool = observed["kv_pool_bytes"]
    if pool is not None:
        # The same allocator on the pool that the log reports: what remains is the allocator's error alone.
        held = capacity_of(setup, pool)
        lines += [_line(f"{name}_of_observed_pool", observed[name], value)
                  for name, value in _held(held).items() if observed[name] is not None]
    return lines, _learned(setup, observed, pieces)


def _predicted_pieces(setup: Setup) -> dict[str, float]:
    pieces: dict[str, float] = {}
    try:
        pieces["weights_bytes"] = predicted_weights(setup)
        reserve = predicted_reserve(setup)
        pieces |= {"activation_bytes": float(reserve.activation_bytes), "other_bytes": float(reserve.other_bytes)}
        budget: Budget = predicted_budget(setup)
        pieces["kv_pool_bytes"] = budget.pool
        pieces |= _held(capacity_of(setup, budget.pool))
    except PlannerError:
        return pieces  # what could be predicted is shown; what is missing stays empty
    return pieces


def _held(held: Capacity) -> dict[str, float]:
    return {"kv_blocks": held.blocks, "kv_capacity_tokens": held.tokens, "max_concurrency": held.concurrency}


def _learned(setup: Setup, observed: Mapping[str, float | None], pieces: Mapping[str, float]) -> dict[str, Any] | None:
    """The reserve that the log implies: what the engine might use, less weights, less its pool."""
    weights, pool = observed["weights_bytes"], observed["kv_pool_bytes"]
    if weights is None or pool is None or setup.utilization is None or setup.capacity is None:
        return None
    if setup.era.budget != "requested" or "other_bytes" not in pieces:
        return None
    reserve = setup.utilization * setup.capacity - weights - pool
    predicted = pieces["activation_bytes"] + pieces["other_bytes"]
    return {"engine": setup.era.engine, "sku": None if setup.chip is None else setup.chip.id,
            "reserve_bytes": reserve, "predicted_reserve_bytes": predicted,
            "extra_reserve_bytes": reserve - predicted, "weights_ratio": weights / pieces["weights_bytes"]}


def _line(name: str, seen: float | None, predicted: float | None) -> dict[str, Any]:
    ratio = predicted / seen if seen and predicted is not None else None
    return {"quantity": name, "observed": seen, "predicted": predicted, "ratio": ratio}


def _bytes(row: Mapping[str, str], column: str) -> float | None:
    value = number(row, column)
    return None if value is None else value * GIB
