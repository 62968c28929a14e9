"""Block Kit's documented limits, checked on every message (docs.slack.dev/reference/block-kit, read 2026-11)."""

from __future__ import annotations

from typing import Any

ELEMENTS = {"button", "static_select", "overflow", "number_input", "plain_text_input"}


def faults(blocks: list[dict[str, Any]], *, most: int = 50) -> list[str]:
    """What Slack would refuse in a list of blocks."""
    found = [] if 0 < len(blocks) <= most else [f"{len(blocks)} blocks"]
    ids = [b["block_id"] for b in blocks if "block_id" in b]
    if len(ids) != len(set(ids)) or any(len(i) > 255 for i in ids):
        found.append("block_id")
    for block in blocks:
        check = globals().get(f"_{block['type']}")
        found += [f"unknown block {block['type']}"] if check is None else check(block)
    return found


def _text(text: Any, kind: str | None, most: int, where: str) -> list[str]:
    if not isinstance(text, dict) or text.get("type") not in {"plain_text", "mrkdwn"}:
        return [f"{where}: no text object"]
    if kind is not None and text["type"] != kind:
        return [f"{where}: {text['type']}"]
    if text["type"] == "mrkdwn" and "emoji" in text:
        return [f"{where}: emoji in mrkdwn"]
    return [] if 1 <= len(text["text"]) <= most else [f"{where}: {len(text['text'])} characters"]


def _header(block: dict[str, Any]) -> list[str]:
    return _text(block["text"], "plain_text", 150, "header")


def _section(block: dict[str, Any]) -> list[str]:
    found = _text(block["text"], None, 3000, "section") if "text" in block else []
    fields = block.get("fields", [])
    if "text" not in block and not fields:
        found.append("section: empty")
    if len(fields) > 10:
        found.append(f"section: {len(fields)} fields")
    return found + [f for field in fields for f in _text(field, None, 2000, "field")]


def _context(block: dict[str, Any]) -> list[str]:
    found = [] if 1 <= len(block["elements"]) <= 10 else ["context: count"]
    return found + [f for e in block["elements"] for f in _text(e, None, 3000, "context")]


def _image(block: dict[str, Any]) -> list[str]:
    found = [] if 1 <= len(block.get("alt_text", "")) <= 2000 else ["image: alt_text"]
    if ("image_url" in block) == ("slack_file" in block):
        found.append("image: one of image_url and slack_file")
    return found + (_text(block["title"], "plain_text", 2000, "image title") if "title" in block else [])


def _actions(block: dict[str, Any]) -> list[str]:
    elements = block["elements"]
    found = [] if 1 <= len(elements) <= 25 else [f"actions: {len(elements)}"]
    names = [e["action_id"] for e in elements]
    if len(names) != len(set(names)):
        found.append("actions: action_id repeated")
    return found + [f for e in elements for f in _element(e)]


def _input(block: dict[str, Any]) -> list[str]:
    found = _text(block["label"], "plain_text", 2000, "label")
    found += _text(block["hint"], "plain_text", 2000, "hint") if "hint" in block else []
    return found + _element(block["element"])


def _element(element: dict[str, Any]) -> list[str]:
    kind = element["type"]
    if kind not in ELEMENTS:
        return [f"unknown element {kind}"]
    found = [] if 1 <= len(element["action_id"]) <= 255 else ["action_id"]
    if kind == "button":
        found += _text(element["text"], "plain_text", 75, "button")
        found += (
            [] if len(element.get("value", "")) <= 2000 and len(element.get("url", "")) <= 3000 else ["button value"]
        )
        found += [] if element.get("style", "primary") in {"primary", "danger"} else ["button style"]
    if kind in {"static_select", "overflow"}:
        most = 5 if kind == "overflow" else 100
        found += [] if 1 <= len(element["options"]) <= most else [f"{kind}: {len(element['options'])} options"]
        for option in element["options"]:
            found += _text(option["text"], None, 75, "option")
            found += [] if 1 <= len(option["value"]) <= 150 else ["option value"]
        if "initial_option" in element and element["initial_option"] not in element["options"]:
            found.append("initial_option is not an option")
        if "placeholder" in element:
            found += _text(element["placeholder"], "plain_text", 150, "placeholder")
    return found
