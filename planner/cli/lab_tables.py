"""The labs' answers as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.cli.tables import DASH, number, share, table, time
from planner.core.quantities.format import binary_bytes, prefixed

if TYPE_CHECKING:
    from rich.table import Table

Answer = dict[str, Any]


def _facts(title: str, rows: list[tuple[str, str]]) -> Table:
    made = table(title, "", "value")
    for name, value in rows:
        made.add_row(name, value)
    return made


def _rate(value: float) -> str:
    return prefixed(value, "FLOP/s")


def roofline_tables(answer: Answer) -> list[Any]:
    """Return a point and the ridges of every boundary."""
    point = _facts(f"{answer['dtype']} on {answer['sku']} at the {answer['boundary']} boundary", [
        ("peak", _rate(answer["peak_flop_per_s"])), ("bandwidth", prefixed(answer["bandwidth_bytes_per_s"], "B/s")),
        ("intensity, FLOP/byte", number(answer["intensity_flop_per_byte"])),
        ("ridge, FLOP/byte", number(answer["ridge_flop_per_byte"])),
        ("attainable", _rate(answer["attainable_flop_per_s"])), ("of peak", share(answer["fraction_of_peak"])),
        ("bound by", answer["bound"]), ("least time", time(answer["time_s"]))])
    ridges = table("Ridges", "boundary", "rate", "FLOP/byte", "")
    for row in answer["boundaries"]:
        ridges.add_row(row["boundary"], prefixed(row["bandwidth_bytes_per_s"], "B/s"),
                       number(row["ridge_flop_per_byte"]), "estimate" if row["estimate"] else "")
    return [point, ridges]


def diagnose_tables(answer: Answer) -> list[Any]:
    """Return a diagnosis, verdict first."""
    from rich.text import Text

    where = {"slope": "on the bandwidth slope", "roof": "on the compute roof", "below": "below both roofs"}
    questions = table("Questions, cheapest first", "question", "verdict", "evidence", left=3)
    for row in answer["questions"]:
        questions.add_row(row["question"], row["verdict"], row["evidence"])
    levers = table("Levers", "change", "helps", "why", left=3)
    for row in answer["levers"]:
        helps = row["helps"]
        levers.add_row(row["change"], "yes" if helps else "no", row["why"], style=None if helps else "dim")
    place, reached = where[answer["position"]], share(answer["roof_fraction"])
    head = f"{answer['explanation']} The kernel is {place}, at {reached} of what the roof allows."
    more = [Text("Also: " + row["sentence"]) for row in answer["causes"][1:]]
    return [Text(head, style="bold"), *more, questions, levers]


def gemm_tables(answer: Answer) -> list[Any]:
    """Return the three accountings and every boundary's verdict."""
    low, high = answer["corridor"]["time_s"][1], answer["corridor"]["time_s"][0]
    waves = answer["waves"]
    made = table("Traffic at memory", "accounting", "bytes", "FLOP/byte")
    for name in ("compulsory", "tiled", "modelled"):
        made.add_row(name, prefixed(answer[f"bytes_{name}"], "B"), number(answer[f"intensity_{name}_flop_per_byte"]))
    facts = _facts("Product", [
        ("work", prefixed(answer["flop"], "FLOP")), ("of peak", share(answer["fraction_of_peak"])),
        ("least time", time(answer["time_s"])), ("corridor", f"{time(low)} … {time(high)}"),
        ("waves", DASH if waves is None else f"{waves['waves']}, last {share(waves['last_wave_fraction'])} full"),
        ("binds first", f"{answer['binding']['bound']} at {share(answer['binding']['fraction_of_peak'])} of peak")])
    levels = table("Boundaries", "boundary", "FLOP/byte", "ridge", "")
    for row in answer["levels"]:
        levels.add_row(row["boundary"], number(row["intensity_flop_per_byte"]), number(row["ridge_flop_per_byte"]),
                       "estimate" if row["estimate"] else "")
    return [facts, made, levels]


def fusion_tables(answer: Answer) -> list[Any]:
    """Return the cut chain against the fully split one."""
    made = table(f"{answer['kernels']} kernel(s), {number(answer['speedup'])} times as fast as split", "kernel",
                 "bytes", "time", "reads", "writes", "registers")
    for group in answer["groups"]:
        made.add_row(" + ".join(group["operations"]), prefixed(group["bytes"], "B"), time(group["time_s"]),
                     str(len(group["reads"])), str(len(group["writes"])),
                     "spill?" if group["register_pressure"] else "")
    made.add_row("total", prefixed(answer["bytes"], "B"), time(answer["time_s"]), "", "", "", style="bold")
    split = answer["split"]
    made.add_row("split", prefixed(split["bytes"], "B"), time(split["time_s"]), "", "", "", style="dim")
    return [made]


def attention_tables(answer: Answer) -> list[Any]:
    """Return one attention."""
    return [_facts(f"{answer['mode']} attention, {answer['dtype']} on {answer['sku']}", [
        ("work", prefixed(answer["flop"], "FLOP")), ("traffic", prefixed(answer["bytes"], "B")),
        ("of it scores", prefixed(answer["bytes_scores"], "B") if answer["bytes_scores"] else DASH),
        ("intensity, FLOP/byte", number(answer["intensity_flop_per_byte"])),
        ("ridge, FLOP/byte", number(answer["ridge_flop_per_byte"])), ("of peak", share(answer["fraction_of_peak"])),
        ("bound by", answer["bound"]), ("least time", time(answer["time_s"]))])]


def layer_tables(answer: Answer) -> list[Any]:
    """Return every operator of a layer."""
    made = table(f"{answer['regime']} of one layer: {time(answer['time_s'])}, MFU {share(answer['mfu'])}, "
                 f"{share(answer['memory_bound_share'])} of the time memory-bound", "operator", "bound", "time",
                 "share", "FLOP", "bytes", "FLOP/byte", left=2)
    for row in answer["rows"]:
        made.add_row(row["name"], row["bound"], time(row["time_s"]), share(row["share"]), prefixed(row["flop"], "FLOP"),
                     prefixed(row["bytes"], "B"), number(row["intensity_flop_per_byte"]))
    return [made]


def optimizer_tables(answer: Answer) -> list[Any]:
    """Return one optimizer step."""
    fits = "fits" if answer["state_fits"] else "does not fit the chip"
    return [_facts(f"{answer['optimizer']} step on {answer['sku']}", [
        ("bytes per parameter", number(answer["bytes_per_parameter"])), ("traffic", prefixed(answer["bytes"], "B")),
        ("intensity, FLOP/byte", number(answer["intensity_flop_per_byte"])), ("bound by", answer["bound"]),
        ("least time", time(answer["time_s"])), ("state", f"{binary_bytes(answer['state_bytes'])}, {fits}"),
        ("sent to other ranks", prefixed(answer["network_bytes"], "B") if answer["network_bytes"] else DASH),
        ("over the link", time(answer["network_time_s"]))])]


def head_tables(answer: Answer) -> list[Any]:
    """Return the head's product and its loss, apart."""
    made = table(f"LM head on {answer['sku']}", "", "FLOP", "bytes", "FLOP/byte", "time")
    for name, row in (("product", answer), ("loss", answer["loss"])):
        made.add_row(name, prefixed(row["flop"], "FLOP"), prefixed(row["bytes"], "B") if row["bytes"] else DASH,
                     number(row["intensity_flop_per_byte"]), time(row["time_s"]))
    made.caption = f"fp32 logits alive at once: {binary_bytes(answer['loss']['logits_bytes'])}"
    return [made]
