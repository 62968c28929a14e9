"""Who may knock: Slack's signature over time stamp and body, and no older than five minutes."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Literal

WINDOW_S = 300
"""Slack: "if the timestamp is more than five minutes from local time, it could be a replay attack" [s]."""
LONGEST_BODY = 256_000
"""Slack sends a few kilobytes; nothing legitimate is near this [byte]."""
Refusal = Literal["oversized", "unsigned", "stale", "forged"]


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """The signature Slack puts on a request (version v0)."""
    digest = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256)
    return f"v0={digest.hexdigest()}"


def refusal(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> Refusal | None:
    """Why a request is not answered; None when it is Slack's own and fresh."""
    timestamp, signed = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
    if len(body) > LONGEST_BODY:
        return "oversized"
    if not secret or not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 12 or not signed:
        return "unsigned"
    if abs(now - int(timestamp)) > WINDOW_S:
        return "stale"
    expected = signature(secret, timestamp, body)
    return None if hmac.compare_digest(expected.encode(), signed.encode()) else "forged"
