"""Where an answer goes: the response address of a command or button, or a message in a channel or thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import (
    AsyncConnectionErrorRetryHandler,
    AsyncRateLimitErrorRetryHandler,
    AsyncServerErrorRetryHandler,
)
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from planner.core.errors import AdapterError
from planner.slack.elements import Block, clip

RETRIES = 3
"""How often a rate-limited or failed call is repeated; Retry-After is obeyed [1]."""
TIMEOUT_S = 20
TOKEN_ERRORS = frozenset(
    {"token_expired", "token_revoked", "invalid_auth", "account_inactive", "not_authed", "missing_scope"}
)
HOOKS = "hooks.slack.com"


class Place(Protocol):
    """Somewhere to write one message and write it again."""

    async def write(self, blocks: Sequence[Block], text: str) -> None:
        """Write the message, in place of what was written before."""
        ...


def retries() -> list[Any]:
    """What repeats a call: rate limits by their Retry-After, lost connections, Slack's own failures."""
    return [
        AsyncRateLimitErrorRetryHandler(max_retry_count=RETRIES),
        AsyncConnectionErrorRetryHandler(),
        AsyncServerErrorRetryHandler(max_retry_count=RETRIES),
    ]


def web_client(token: str | None, api_url: str) -> AsyncWebClient:
    """A client of Slack's Web API."""
    return AsyncWebClient(token=token, base_url=api_url, timeout=TIMEOUT_S, retry_handlers=retries())


class ResponseAddress:
    """The response address of a command (a new private message) or of a button (the message it stands in)."""

    def __init__(self, url: str, api_url: str, *, replace: bool) -> None:
        address, api = urlsplit(url), urlsplit(api_url)
        if (address.scheme, address.netloc) != (api.scheme, api.netloc) and (address.scheme, address.netloc) != (
            "https",
            HOOKS,
        ):
            raise AdapterError("The response address is not Slack's.")
        self._client = AsyncWebhookClient(url, timeout=TIMEOUT_S, retry_handlers=retries())
        self._replace = replace

    async def write(self, blocks: Sequence[Block], text: str) -> None:
        """Write the message, in place of what was written before."""
        body = {"text": clip(text, 3000), "blocks": list(blocks), "replace_original": self._replace}
        if not self._replace:
            body["response_type"] = "ephemeral"
        await self._send(body)
        self._replace = True

    async def announce(self, blocks: Sequence[Block], text: str) -> None:
        """Write a new message that the whole channel sees."""
        await self._send(
            {"text": clip(text, 3000), "blocks": list(blocks), "response_type": "in_channel", "replace_original": False}
        )

    async def _send(self, body: dict[str, Any]) -> None:
        answer = await self._client.send_dict(body)
        if answer.status_code != 200:
            raise AdapterError(f"Slack did not take the answer: {answer.status_code} {answer.body[:80]}.")


class Thread:
    """A message in a channel or thread; written again it is edited."""

    def __init__(self, client: AsyncWebClient, channel: str, thread: str | None) -> None:
        self._client = client
        self._channel = channel
        self._thread = thread
        self._stamp: str | None = None

    async def write(self, blocks: Sequence[Block], text: str) -> None:
        """Write the message, in place of what was written before."""
        if self._stamp is None:
            answer = await self._client.chat_postMessage(
                channel=self._channel,
                thread_ts=self._thread,
                text=clip(text, 3000),
                blocks=list(blocks),
                unfurl_links=False,
                unfurl_media=False,
            )
            self._stamp = str(answer["ts"])
            return
        await self._client.chat_update(
            channel=self._channel, ts=self._stamp, text=clip(text, 3000), blocks=list(blocks)
        )


async def uploaded(client: AsyncWebClient, content: bytes, title: str, alt: str) -> str | None:
    """The id of an uploaded picture, shared nowhere by itself; None when Slack refuses files."""
    try:
        answer = await client.files_upload_v2(
            content=content, filename="chart.png", title=clip(title, 200), alt_txt=clip(alt, 1000)
        )
    except SlackApiError as error:
        if code_of(error) in TOKEN_ERRORS - {"missing_scope"}:
            raise
        return None
    files = answer.get("files") or []
    return str(files[0]["id"]) if files else None


def code_of(error: SlackApiError) -> str:
    """Slack's own word for what went wrong."""
    response = error.response
    return str(response.get("error", "")) if hasattr(response, "get") else ""
