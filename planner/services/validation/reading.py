"""Rows of the two measured-run headers turned into :class:`MeasuredRow`, labels repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from planner.core.errors import InvalidQuantity, PlannerError
from planner.core.fitting.measured import Load, MeasuredRow
from planner.core.quantities.units import MILLI
from planner.services.pointers import at
from planner.services.validation.labels import cache_of, engine_of, sku_of, weights_of

Record = Mapping[str, str]
_SILICON = frozenset({"model", "gpu", "engine", "weight_dtype", "moe_tp", "measured", "ttft_ms", "tpot_ms"})
_SERVING = frozenset({"model", "model_base", "gpu_sku", "n_gpus", "weight_dtype", "kind", "spec_decode"})
_LOADS: Mapping[str, Load] = {"serving-concurrency": Load.CLOSED, "single-stream": Load.SINGLE,
                              "static-decode": Load.STATIC, "offline-saturated": Load.OFFLINE}
_SHARED = {"/model": "model", "/deployment/weights": "weight_dtype", "/deployment/tensor_parallel": "tp",
           "/deployment/data_parallel": "dp", "/deployment/expert_parallel": "ep", "/workload/input_tokens": "isl",
           "/workload/output_tokens": "osl", "/workload/concurrency": "concurrency"}
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "silicon": {**_SHARED, "/sku": "gpu"},
    "serving": {**_SHARED, "/sku": "gpu_sku", "/deployment/kv_cache": "kv_dtype",
                "/deployment/pipeline_parallel": "pp"},
}
_REPLICA = frozenset({1, 2, 4, 8, 16})  # tensor-parallel sizes without attention data parallelism
_RANDOM = "range ratio 0.8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The rows of a file, and those no row could be made of."""

    rows: tuple[MeasuredRow, ...]
    unread: tuple[tuple[int, str], ...]
    """(row number, reason)."""
    header: str
    """silicon | serving."""
    columns: Mapping[int, str]
    """Row number → the column at fault, where it is one."""

    def column_of(self, pointer: str | None) -> str | None:
        """The column that a field of the plan was read from."""
        return None if pointer is None else _COLUMNS[self.header].get(pointer)


def read_rows(records: Iterable[Record]) -> Reading:
    """The measured rows of a file, recognised by its columns."""
    rows: list[MeasuredRow] = []
    unread: list[tuple[int, str]] = []
    columns: dict[int, str] = {}
    reader: Callable[[int, Record], MeasuredRow] | None = None
    header = ""
    for number, record in enumerate(records, start=1):
        if reader is None:
            header = _header(record)
            reader = _silicon if header == "silicon" else _serving
        try:
            rows.append(reader(number, record))
        except (PlannerError, ValueError) as error:
            unread.append((number, getattr(error, "detail", str(error))))
            if isinstance(error, PlannerError) and error.pointer:
                columns[number] = error.pointer.strip("/")
    return Reading(rows=tuple(rows), unread=tuple(unread), header=header, columns=columns)


def _header(record: Record) -> str:
    if set(record) >= _SILICON:
        return "silicon"
    if set(record) >= _SERVING:
        return "serving"
    raise InvalidQuantity("The file's columns are those of no measured-run header.",
                          hint="Either " + ", ".join(sorted(_SILICON)) + "; or " + ", ".join(sorted(_SERVING)) + ".")


def _silicon(number: int, record: Record) -> MeasuredRow:
    if record.get("mode", "agg") != "agg":
        raise InvalidQuantity("disaggregated run: the batch of a worker is not stated", pointer="/mode")
    gpus, problem = _gpus(record)
    data = min(_whole(record, "dp"), gpus)
    expert = min(_whole(record, "ep"), gpus)
    weights = _weights(record, "weight_dtype")
    dated = bool(record["measured"])
    return MeasuredRow(
        number=number, model=record["model"], sku=sku_of(record["gpu"]), engine=engine_of(record["engine"]),
        engine_label=record["engine"], weights=weights,
        expert_weights=_weights(record, "moe_dtype" if record.get("moe_dtype") else "weight_dtype"), kv_cache="auto",
        input_tokens=float(record["isl"]), output_tokens=float(record["osl"]),
        concurrency=float(record["concurrency"]), load=Load.CLOSED, tensor=max(gpus // data, 1), data=data,
        expert=expert, gpus=gpus, tpot=_milliseconds(record, "tpot_ms"), ttft=_milliseconds(record, "ttft_ms"),
        fixed_lengths=not dated, source=record.get("image", ""), date=record["measured"], problem=problem,
        group=record.get("group") or f"{record['model']}|{record['gpu']}|{record['engine']}")


def _gpus(record: Record) -> tuple[int, str]:
    """GPUs of the replica, and why they cannot be told: dated rows label products of tp·ep, undated ones factors."""
    if record.get("n_gpus"):
        return int(float(record["n_gpus"])), ""
    tensor, data = _whole(record, "tp"), _whole(record, "dp")
    expert, expert_tensor = _whole(record, "ep", least=0), _whole(record, "moe_tp")
    if expert == 0:
        return tensor, "expert parallelism is labelled 0"
    if record["measured"]:
        gpus = _dated_gpus(tensor, data, expert, expert_tensor)
    else:
        gpus = max(tensor * data, expert_tensor * expert)
    if data == 1 and gpus not in _REPLICA:
        return gpus, f"{gpus} GPUs without data parallelism are no replica"
    return gpus, ""


def _dated_gpus(tensor: int, data: int, expert: int, expert_tensor: int) -> int:
    """GPUs behind labels that are products of equal factors: 16 = 4 × 4 is a replica of 4."""
    if expert_tensor == expert > 1:
        return expert
    if data > 1:
        return tensor if tensor == data else max(expert, expert_tensor)
    return expert_tensor if expert_tensor > 1 else max(tensor, expert)


def _serving(number: int, record: Record) -> MeasuredRow:
    engine_label = record["engine"]
    load = _LOADS[record["kind"]]
    gpus = int(float(record["n_gpus"]))
    data, expert = _whole(record, "dp"), _whole(record, "ep")
    pipeline = _whole(record, "pp")
    tensor = _whole(record, "tp") if record["tp"] else max(gpus // (pipeline * data), 1)
    note = record.get("params_note", "")
    if data > 1 and tensor * pipeline == gpus and gpus % (pipeline * data) == 0:
        tensor = gpus // (pipeline * data)  # attention data parallelism inside the tensor-parallel group
    problem = "" if data == 1 or tensor * data * pipeline == gpus else "tp, pp and dp do not give the GPUs"
    weights = _weights(record, "weight_dtype")
    if not record["isl"]:
        raise InvalidQuantity("prompt length not stated", pointer="/isl")
    return MeasuredRow(
        number=number, model=_model(record), sku=sku_of(record["gpu_sku"]), engine=engine_of(engine_label),
        engine_label=engine_label, weights=weights, expert_weights=weights, kv_cache=cache_of(record["kv_dtype"]),
        input_tokens=float(record["isl"]), output_tokens=max(float(record["osl"] or 1), 1.0),
        concurrency=_in_flight(record, load), load=load, tensor=tensor, data=data, pipeline=pipeline,
        expert=min(expert, tensor * data), gpus=gpus, tpot=_milliseconds(record, "tpot_ms_mean")
        or _milliseconds(record, "itl_ms_mean"), ttft=_milliseconds(record, "ttft_ms_mean"),
        rate=_number(record, "tok_s_per_gpu"), fixed_lengths=_RANDOM not in note and "uniform" not in note,
        engine_call="no server" in note or load is Load.STATIC, open_loop=_arrives(record),
        source=record["source"], group=record["source"],
        date=record.get("date_or_version", ""),
        speculative=record["spec_decode"] not in {"", "none"}, problem=problem)


def _weights(record: Record, column: str) -> str:
    """The weight format behind a column's label."""
    with at(f"/{column}"):
        return weights_of(record[column], record["engine"])


def _arrives(record: Record) -> bool:
    """Whether requests came at a finite rate instead of one user after the other."""
    name, _, rate = record.get("concurrency", "").partition("=")
    return name.strip().lower() == "qps" and rate.replace(".", "", 1).isdigit()


def _in_flight(record: Record, load: Load) -> float:
    """Requests in flight; 0 where the run kept the replica full and the file gives no number."""
    for name in ("conc_effective", "concurrency"):
        text = record.get(name, "").strip()
        if text.replace(".", "", 1).isdigit():
            return float(text)
    if load is Load.SINGLE:
        return 1.0
    if load is Load.OFFLINE:
        return 0.0
    raise InvalidQuantity(f"requests in flight not stated ({record.get('concurrency', '')!r})", pointer="/concurrency")


def _model(record: Record) -> str:
    return record["model"] or record["model_base"]


def _whole(record: Record, name: str, least: int = 1) -> int:
    return max(int(float(record.get(name) or 1)), least) if record.get(name) != "0" else least


def _number(record: Record, name: str) -> float | None:
    text = record.get(name, "")
    return float(text) if text else None


def _milliseconds(record: Record, name: str) -> float | None:
    value = _number(record, name)
    return None if value is None else value * MILLI
