"""Messages in Block Kit: the answer card, the form for what is missing, help, and one-line replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from planner.services.parse import Parsed, Vocabulary
from planner.services.questions.reply import Reply
from planner.slack.chips import chips, warning
from planner.slack.elements import (
    Block,
    actions,
    button,
    context,
    escaped,
    field,
    fields,
    header,
    image,
    number,
    overflow,
    section,
    select,
)

EXAMPLES = (
    "llama 3.3 70b on 4xh100 fp8, 2k in 500 out, 32 clients",
    "does qwen3-32b fit on one l40s in 8 bit?",
    "h100 vs h200 vs mi300x for gpt-oss-120b, 8k ctx",
    "how many h200 for dsv3 at 20 rps, 2k/400, ttft < 2s",
    "cost per million for qwen3-235b on 8 h200 at 3.20/h",
    "best batch for llama 3.1 8b on l4",
)
OUT_OF_SCOPE = (
    "I only answer capacity questions: whether a model fits, how fast it runs, what limits it, what it costs, "
    "how many GPUs a load needs. Say `help` for examples."
)


def answer_card(
    reply: Reply,
    parse: Mapping[str, Any],
    key: str,
    *,
    notes: Sequence[str] = (),
    file_id: str | None = None,
    public_url: str | None = None,
    shared: bool = False,
    skus: Sequence[tuple[str, str]] = (),
) -> list[Block]:
    """The answer: verdict, figures with intervals, what limits, the best lever, the chart, controls, what was read."""
    blocks = [header(reply.verdict)]
    if len(reply.verdict) > 150:
        blocks.append(section(escaped(reply.verdict)))
    if reply.lead:
        blocks.append(section(escaped(reply.lead)))
    if reply.figures:
        blocks.append(fields([(f.label, f.text + (f" ({f.low} – {f.high})" if f.low else "")) for f in reply.figures]))
    detail = [escaped(reply.limit)] if reply.limit else []
    detail += [f"*Best lever* {escaped(reply.lever)}"] if reply.lever else []
    if detail:
        blocks.append(section("\n".join(detail)))
    if reply.lines:
        blocks.append(section("\n".join(f"• {escaped(line)}" for line in reply.lines)))
    if file_id is not None:
        blocks.append(image(file_id, alt_text(reply), reply.chart.title if reply.chart else "Chart"))
    if not shared:
        blocks.append(_controls(reply, key, public_url, skus))
    blocks.append(context("Read as: " + " · ".join(f"`{chip}`" for chip in chips(parse))))
    if reply.defaults:
        blocks.append(context("Not said, so assumed: " + " · ".join(f"`{escaped(text)}`" for text in reply.defaults)))
    small = [escaped(text) for text in (*notes, *reply.warnings)]
    if small:
        blocks.append(context("\n".join(small)))
    blocks.append(
        context(
            "90% intervals in brackets. "
            + _provenance(reply)
            + f"{len(reply.assumptions)} assumptions: see the … menu."
        )
    )
    return blocks


def alt_text(reply: Reply) -> str:
    """The chart in words: the verdict and each line's end."""
    ends = [
        f"{s.label}: {s.y[-1]:,.0f} tokens/s at {s.x[-1]:,.0f} in flight"
        for s in (reply.chart.series if reply.chart else ())
        if s.y and s.y[-1] is not None
    ]
    return ". ".join([reply.verdict.rstrip("."), *ends]) + "."


def _provenance(reply: Reply) -> str:
    calibration = (reply.outcomes[0].answer or {}).get("calibration") if reply.outcomes else None
    if not calibration:
        return ""
    return escaped(f"Efficiencies: {calibration['id']} ({calibration['kind']}). ")


def _controls(reply: Reply, key: str, public_url: str | None, skus: Sequence[tuple[str, str]]) -> Block:
    made = []
    if public_url and reply.link:
        made.append(
            button("Open in planner", "open", key, style="primary", url=f"{public_url}/?{urlencode(reply.link)}")
        )
    made += [
        button("Try FP8", "edit:fp8", key),
        button("2× context", "edit:context", key),
        button("Why", "edit:why", key),
        button("Cost", "edit:cost", key),
        button("Share to channel", "share", key),
        button("Save as scenario", "save", key),
    ]
    if skus:
        made.append(select("edit:sku", "Other GPU", skus))
    made.append(
        overflow(
            "more",
            [
                ("Size for a load", f"size {key}"),
                ("FP8 KV cache", f"fp8_kv {key}"),
                (f"{len(reply.assumptions)} assumptions", f"assumptions {key}"),
                ("Watch daily", f"watch {key}"),
            ],
        )
    )
    return actions(made, f"answer {key}")


def form(parsed: Parsed, key: str, vocabulary: Vocabulary) -> list[Block]:
    """What is missing, asked once: choices where a name is open, defaults for the rest."""
    blocks = [section(f"*{_wanted(parsed)}*")]
    said = chips(parsed.parse)
    if said:
        blocks.append(context("Read as: " + " · ".join(f"`{chip}`" for chip in said)))
    small = [*parsed.notes, *(warning(code) for code in parsed.warn)]
    if small:
        blocks.append(context("\n".join(escaped(text) for text in small)))
    if "model" in parsed.ask:
        blocks.append(
            field("model", "Model", select("value", "Choose a model", _models(parsed, vocabulary)), optional=False)
        )
    if "skus" in parsed.ask:
        blocks.append(field("skus", "GPU", select("value", "Choose a GPU", _skus(parsed, vocabulary)), optional=False))
    blocks += [
        field(name, label, number(initial), optional=True, hint=hint)
        for name, label, initial, hint in _unstated(parsed)
    ]
    blocks.append(actions([button("Answer", "form", key, style="primary")], f"form {key}"))
    return blocks


def _wanted(parsed: Parsed) -> str:
    names = {"model": "which model", "skus": "which GPU"}
    return "To answer I need to know " + " and ".join(names[k] for k in parsed.ask if k in names) + "."


def _models(parsed: Parsed, vocabulary: Vocabulary) -> list[tuple[str, str]]:
    offered = parsed.choices.get("model", ())
    entries = (
        [m for m in vocabulary.models if m.id in set(offered)]
        if offered
        else sorted(vocabulary.models, key=lambda m: m.released, reverse=True)
    )
    return [(m.name.split("/")[-1], m.id) for m in entries]


def _skus(parsed: Parsed, vocabulary: Vocabulary) -> list[tuple[str, str]]:
    offered = parsed.choices.get("skus", ())
    return [(s.name, s.id) for s in vocabulary.usual_skus() if not offered or s.id in set(offered)]


def _unstated(parsed: Parsed) -> list[tuple[str, str, str | None, str | None]]:
    """Fields a form adds while it is shown anyway: never one already said."""
    parse, slo = parsed.parse, parsed.parse.get("slo", {})
    found: list[tuple[str, str, str | None, str | None]] = []
    if not {"context_tokens", "input_tokens"} & parse.keys():
        found.append(("input_tokens", "Prompt tokens", "1000", "Languages other than English take more tokens a word."))
    if "output_tokens" not in parse:
        found.append(("output_tokens", "Answer tokens", None if "context_tokens" in parse else "1000", None))
    if "users" in parse and "concurrency" not in parse:
        found.append(("share", "Share of users in flight at the peak", "0.1", "0.05 to 0.1 is usual for chat."))
    elif not {"concurrency", "request_rate"} & parse.keys():
        found.append(("concurrency", "Requests in flight", "64", None))
    if parsed.intent in {"batch", "size", "plan"}:
        found += [
            (k, label, None, None)
            for k, label in (
                ("ttft_s", "Target: first token within seconds"),
                ("tpot_s", "Target: seconds per further token"),
            )
            if k not in slo
        ]
    if parsed.intent in {"compare", "size"} and "budget_usd" not in parse:
        found.append(("budget_usd", "Budget in USD", None, None))
    return found


def help_card() -> list[Block]:
    """What can be asked."""
    return [
        header("Ask about LLM serving capacity"),
        section(
            "I plan with a roofline of the model and the GPU: fit, speed, limits, cost, sizing. In a thread, just "
            "say what changes: “and with fp8?”, “on 8”, “at 64k”."
        ),
        section("\n".join(f"• `{escaped(text)}`" for text in EXAMPLES)),
        section(
            "`save NAME` keeps the thread's question as a scenario. `watch NAME daily` asks it again and posts when "
            "the answer changes; `unwatch NAME` ends that, `watches` lists them."
        ),
    ]


def line(text: str) -> list[Block]:
    """A one-line reply."""
    return [section(escaped(text))]


def scope_line() -> list[Block]:
    """Out of scope, in one line."""
    return [section(OUT_OF_SCOPE)]


def assumptions_view(texts: Sequence[str]) -> Block:
    """The folded assumptions, as a dialogue."""
    body = "\n".join(f"• {escaped(text)}" for text in texts) or "None."
    return {
        "type": "modal",
        "title": {"type": "plain_text", "text": "Assumptions"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": [section(body)],
    }
