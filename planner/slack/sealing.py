"""Tokens and texts at rest: encrypted and authenticated with the settings' Fernet key."""

from __future__ import annotations

import json
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from planner.core.errors import AdapterError


class Seal:
    """Encrypts and decrypts what the app stores."""

    def __init__(self, key: str) -> None:
        self._fernet = Fernet(key)

    def close(self, value: object) -> bytes:
        """A JSON value, encrypted."""
        return self._fernet.encrypt(json.dumps(value).encode())

    def open(self, sealed: bytes) -> Any:  # noqa: ANN401 - a JSON value
        """The JSON value inside."""
        try:
            return json.loads(self._fernet.decrypt(sealed))
        except (InvalidToken, ValueError):
            raise AdapterError(
                "A stored Slack secret cannot be read with this encryption key.",
                hint="Restore PLANNER_SLACK_ENCRYPTION_KEY, or install the app again.",
            ) from None

    def ticket(self, purpose: str) -> str:
        """A short-lived proof that this service began something (the state of an installation)."""
        return self._fernet.encrypt(purpose.encode()).decode()

    def honours(self, ticket: str, purpose: str, ttl_s: int) -> bool:
        """Whether a proof is this service's own and fresh."""
        try:
            return self._fernet.decrypt(ticket.encode(), ttl=ttl_s).decode() == purpose
        except InvalidToken:
            return False
