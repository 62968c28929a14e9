"""Block Kit pieces within Slack's documented limits; text of others is escaped, never markup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Block = dict[str, Any]
# https://docs.slack.dev/reference/block-kit/blocks and …/block-elements, read 2026-11.
HEADER, TEXT, FIELD, FIELDS, BUTTON, OPTION, VALUE, ALT = 150, 3000, 2000, 10, 75, 75, 2000, 2000
ACTIONS, OPTIONS, OVERFLOW, CONTEXT, BLOCKS = 25, 100, 5, 10, 50


def escaped(text: str) -> str:
    """Text that cannot ping, link or format: Slack's control characters escaped, its markup signs replaced."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return safe.replace("`", "'").replace("*", "\u2217").replace("~", "\u223c")


def clip(text: str, length: int) -> str:
    """Text of at most so many characters; a cut shows, and no escape is cut in half."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    amp = cut.rfind("&")
    return (cut[:amp] if amp >= 0 and ";" not in cut[amp:] else cut).rstrip() + "…"


def plain(text: str, length: int) -> Block:
    """A plain-text object: Slack formats nothing in it."""
    return {"type": "plain_text", "text": clip(text, length) or "–", "emoji": False}


def mrkdwn(text: str, length: int = TEXT) -> Block:
    """A formatted text object; what goes in must be ours or escaped."""
    return {"type": "mrkdwn", "text": clip(text, length) or "–", "verbatim": True}


def header(text: str) -> Block:
    """A header."""
    return {"type": "header", "text": plain(text, HEADER)}


def section(text: str) -> Block:
    """A paragraph."""
    return {"type": "section", "text": mrkdwn(text)}


def fields(pairs: Sequence[tuple[str, str]]) -> Block:
    """Label over value, in two columns."""
    return {"type": "section", "fields": [mrkdwn(f"*{escaped(k)}*\n{escaped(v)}", FIELD) for k, v in pairs[:FIELDS]]}


def context(*lines: str) -> Block:
    """Small print."""
    return {"type": "context", "elements": [mrkdwn(line) for line in lines[:CONTEXT]]}


def image(file_id: str, alt: str, title: str) -> Block:
    """An uploaded picture."""
    return {"type": "image", "slack_file": {"id": file_id}, "alt_text": clip(alt, ALT), "title": plain(title, ALT)}


def button(text: str, action: str, value: str, *, style: str | None = None, url: str | None = None) -> Block:
    """A button."""
    made: Block = {"type": "button", "action_id": action, "text": plain(text, BUTTON), "value": clip(value, VALUE)}
    return made | ({"style": style} if style else {}) | ({"url": url} if url else {})


def option(text: str, value: str) -> Block:
    """One entry of a menu."""
    return {"text": plain(text, OPTION), "value": value[:150]}


def select(action: str, placeholder: str, options: Iterable[tuple[str, str]], initial: str | None = None) -> Block:
    """A menu of at most a hundred entries."""
    made = [option(text, value) for text, value in options][:OPTIONS]
    first = next((o for o in made if o["value"] == initial), None)
    return {"type": "static_select", "action_id": action, "placeholder": plain(placeholder, 150), "options": made} | (
        {"initial_option": first} if first else {}
    )


def overflow(action: str, options: Iterable[tuple[str, str]]) -> Block:
    """The "…" menu."""
    return {"type": "overflow", "action_id": action, "options": [option(t, v) for t, v in options][:OVERFLOW]}


def actions(elements: Sequence[Block], block_id: str) -> Block:
    """A row of controls."""
    return {"type": "actions", "block_id": block_id[:255], "elements": list(elements)[:ACTIONS]}


def field(block_id: str, label: str, element: Mapping[str, Any], *, optional: bool, hint: str | None = None) -> Block:
    """One field of a form."""
    made: Block = {
        "type": "input",
        "block_id": block_id,
        "label": plain(label, 2000),
        "element": dict(element),
        "optional": optional,
    }
    return made | ({"hint": plain(hint, 2000)} if hint else {})


def number(initial: str | None = None) -> Block:
    """A numeric field above zero."""
    made: Block = {"type": "number_input", "action_id": "value", "is_decimal_allowed": True, "min_value": "0"}
    return made | ({"initial_value": initial} if initial else {})
