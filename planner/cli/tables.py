"""Tables for people: few columns, units in the heads, numbers right, nothing to decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.core.quantities.format import binary_bytes, counted, prefixed, seconds, significant
from planner.services.plan.explain import per_user

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

DASH = "–"


def console() -> Console:
    """Return the console answers are printed on."""
    from rich.console import Console

    return Console(highlight=False)


def table(title: str, *columns: str, left: int = 1) -> Table:
    """Return an empty table whose first columns are text and the rest numbers."""
    from rich import box

    from planner.cli.fitted import FittedTable

    made = FittedTable(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False,
                       padding=(0, 1, 0, 0))
    for index, name in enumerate(columns):
        made.add_column(name, justify="left" if index < left else "right", overflow="fold")
    return made


def number(value: float | None) -> str:
    """Return three significant digits, or a dash."""
    return DASH if value is None else significant(value)


def whole(value: float | None) -> str:
    """Return a count, or a dash."""
    return DASH if value is None else f"{value:,.0f}"


def time(value: float | None) -> str:
    """Return a time with its unit, or a dash."""
    return DASH if value is None else seconds(value)


def share(value: float) -> str:
    """Return a percentage."""
    return f"{value:.0%}"


def interval(answer: dict[str, Any], path: str, show: Any = number) -> str:  # noqa: ANN401 - a formatter
    """Return the 90 % interval of a field, or a dash."""
    bounds = answer["intervals"].get(path)
    return DASH if bounds is None else f"{show(bounds[0])} … {show(bounds[1])}"


def assumed(answer: dict[str, Any], *keys: str) -> list[str]:
    """Return what a plan takes for granted about some things, in the plan's order."""
    return [text for key, text in zip(answer["assumption_keys"], answer["assumptions"], strict=True) if key in keys]


def plan_tables(answer: dict[str, Any]) -> list[Any]:
    """Return a plan as printable parts, verdict first."""
    from rich.text import Text

    good = answer["fit"]["fits"]
    verdict, _, rest = answer["explanation"].partition(". ")
    parts: list[Any] = [Text(verdict + ".", style="bold green" if good else "bold red"), Text(rest)]
    parts += [_numbers(answer), _memory(answer), _time(answer), _precision(answer), _levers(answer)]
    parts += [Text(f"! {line}", style="yellow") for line in answer["warnings"]]
    calibration = answer["calibration"]
    kind = "datasheet ceilings: a bound, not a prediction" if calibration["kind"] == "bound" else (
        f"efficiencies {calibration['id']}, measured {calibration['measured_on']}; intervals are 90 %")
    said = assumed(answer, "replica", "requests", "load", "served_runs")
    parts.append(Text(f"{kind}. {' '.join(said)}", style="dim"))
    return parts


def _numbers(answer: dict[str, Any]) -> Table:
    decode, serving = answer["decode"], answer["serving"]
    rows = table(f"Speed{_unreal(answer)}", "", "value", "90 % interval")
    if serving is not None:
        rows.add_row("tokens/s per user", number(serving["tokens_per_s_per_user"]),
                     interval(answer, "serving.tokens_per_s_per_user"))
        rows.add_row("output tokens/s, replica", number(serving["output_tokens_per_s"]),
                     interval(answer, "serving.output_tokens_per_s"))
        rows.add_row("TTFT mean", time(serving["ttft_s"]["mean"]), interval(answer, "serving.ttft_s.mean", time))
        rows.add_row("TTFT p95", time(serving["ttft_s"]["p95"]), interval(answer, "serving.ttft_s.p95", time))
        rows.add_row("largest request rate /s", number(serving["max_request_rate"]),
                     interval(answer, "serving.max_request_rate"))
    rows.add_row(f"decode step of {counted(decode['batch'], 'sequence')}", time(decode["step_time_s"]),
                 interval(answer, "decode.step_time_s", time))
    rows.add_row("prefill of one prompt", time(answer["prefill"]["time_s"]), interval(answer, "prefill.time_s", time))
    cost = answer["cost"]
    if cost is not None:
        rows.add_row("USD per million output tokens", number(cost["usd_per_million_output_tokens"]), DASH)
        rows.add_row("USD per hour", number(cost["usd_per_hour"]), DASH)
    return rows


def _memory(answer: dict[str, Any]) -> Table:
    fit = answer["fit"]
    rows = table("Memory per GPU", "", "size")
    for name, key in (("usable", "usable_bytes"), ("weights", "weights_bytes"), ("activations", "activation_bytes"),
                      ("runtime", "other_bytes"), ("KV pool", "kv_pool_bytes")):
        rows.add_row(name, binary_bytes(fit[key]))
    if not fit["fits"]:
        rows.add_row("short of", binary_bytes(fit["shortfall_bytes"]), style="red")
    rows.add_row("KV per token, replica", binary_bytes(fit["kv_bytes_per_token"]))
    rows.add_row("requests at once", whole(fit["max_concurrency"]))
    rows.add_row("longest context, tokens", f"{fit['max_context_tokens']:,.0f}")
    return rows


def _time(answer: dict[str, Any]) -> Table:
    decode = answer["decode"]
    shares = ", ".join(f"{name} {share(value)}" for name, value in
                       sorted(decode["time_shares"].items(), key=lambda item: -item[1]) if value >= 0.005)
    rows = table(f"Where a decode step goes{_unreal(answer)} ({shares})", "operator", "bound", "time", "share",
                 "FLOP/byte", left=2)
    total = decode["step_time_s"]
    for line in sorted(decode["operators"], key=lambda o: -o["time_s"]):
        if line["time_s"] < 0.01 * total:
            continue
        window = line.get("window_tokens")
        rows.add_row(line["name"] + (f", last {window:,.0f}" if window else ""), line["bound"], time(line["time_s"]),
                     share(line["time_s"] / total), number(line["intensity_flop_per_byte"]))
    if decode["overhead_s"] >= 0.01 * total:
        rows.add_row("launches and host", "overhead", time(decode["overhead_s"]),
                     share(decode["overhead_s"] / total), DASH)
    step = decode["batch_critical_step"]
    whole_step = "never" if step is None else number(step)
    moved = prefixed(decode["traffic"]["total_bytes"], "B")
    rows.caption = (f"B* {number(decode['batch_critical'])} · of the whole step {whole_step} · KV crossover "
                    f"{number(decode['batch_crossover'])} · {moved} moved, {share(decode['kv_fraction'])} of it cache")
    return rows


def _unreal(answer: dict[str, Any]) -> str:
    """Say of times that they are as if memory sufficed, where it does not."""
    return "" if answer["fit"]["fits"] else ", as if memory sufficed"


def _precision(answer: dict[str, Any]) -> Table:
    rows = table("What the formats change, same batch and context", "weights", "KV", "compute", "B*", "crossover",
                 "step", "tokens/s", "at once", left=3)
    for line in answer["precision"]:
        weights = line["weights"] + (" (this)" if line["deployed"] else "")
        if line["refused"]:
            rows.add_row(weights, line["kv_cache"], "refused: " + line["refused"].split(" (")[0], *[DASH] * 5)
            continue
        reached = (time(line["step_time_s"]), number(line["tokens_per_s"]), whole(line["max_concurrency"]))
        rows.add_row(weights, line["kv_cache"], line["compute"], number(line["batch_critical"]),
                     number(line["batch_crossover"]), *(reached if line["fits"] else (DASH, DASH, "does not fit")))
    return rows


def _levers(answer: dict[str, Any]) -> Table:
    rows = table("Levers, best first", "change", "effect on", "ratio", "note")
    for line in answer["levers"]:
        effect = line["effect"]
        ratio = f"{effect['ratio']:.2f}×" if effect["ratio"] is not None else (
            f"from none to {whole(effect['after'])}" if effect["after"] > 0 else "still none")
        rows.add_row(line["change"], effect["metric"].split(".")[-1], ratio, line["note"],
                     style=None if line["helps"] else "dim")
    for column in (1, 3):
        rows.columns[column].justify = "left"
    return rows


def compare_table(answers: list[dict[str, Any]]) -> Table:
    """Return several plans as columns of one table."""
    heads = [f"{a['deployment']['gpus']} × {a['sku']}\n{a['model'].split('/')[-1]}\n{a['deployment']['weights']}"
             if "fit" in a else f"{a['sku']}\n{a['model']}" for a in answers]
    rows = table("Side by side", "", *heads)
    lines: list[tuple[str, Any]] = [
        ("fits", lambda a: "yes" if a["fit"]["fits"] else f"short of {binary_bytes(a['fit']['shortfall_bytes'])}"),
        ("tokens/s per user", lambda a: number(per_user(a))),
        ("output tokens/s", lambda a: number(_served(a, "output_tokens_per_s"))),
        ("output tokens/s per GPU", lambda a: number(_served(a, "output_tokens_per_s_per_gpu"))),
        ("TTFT mean", lambda a: time(a["serving"]["ttft_s"]["mean"] if a["serving"] else None)),
        ("keeps up", _keeps_up), ("bound", lambda a: a["decode"]["bound"]),
        ("B*", lambda a: number(a["decode"]["batch_critical"])),
        ("KV crossover", lambda a: number(a["decode"]["batch_crossover"])),
        ("requests at once", lambda a: whole(a["fit"]["max_concurrency"])),
        ("USD per M output", lambda a: number(a["cost"]["usd_per_million_output_tokens"] if a["cost"] else None)),
    ]
    for name, show in lines:
        rows.add_row(name, *[show(a) if "fit" in a else DASH for a in answers])
    refused = [a for a in answers if "fit" not in a]
    said = [" ".join(assumed(a, "requests", "load")) for a in answers if "fit" in a][:1]
    rows.caption = " · ".join([*said, *(f"{a['sku']}: {a['refused']['detail']}" for a in refused)]) or None
    return rows


def _keeps_up(answer: dict[str, Any]) -> str:
    """Whether the replica carries the load asked about, and what it sustains where it does not."""
    serving = answer["serving"]
    if serving is None:
        return DASH
    if serving["saturated"] and serving["ttft_s"]["mean"] is None:
        return f"no: {number(serving['max_request_rate'])} requests/s"
    return "yes, some wait" if serving["saturated"] else "yes"


def _served(answer: dict[str, Any], key: str) -> float | None:
    return answer["serving"][key] if answer["serving"] else None
