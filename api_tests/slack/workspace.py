"""A loopback stand-in for Slack: its Web API with its documented limits, response addresses, and Socket Mode."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiohttp import WSMsgType, web
from slack_sdk.models.blocks import Block

from api_tests.slack.validation import faults

TOKEN, TEAM, BOT = "xoxb-loopback", "T0LOOP", "U0CAPBOT"
TEXT_LIMIT = 40_000
RESPONSES = 5
"""A response address takes five messages within thirty minutes [1]."""


class Workspace:
    """One workspace; everything posted is validated and kept."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.responses: list[dict[str, Any]] = []
        self.files: list[dict[str, Any]] = []
        self.calls: Counter[str] = Counter()
        self.faults: list[str] = []
        self.busy: dict[str, int] = {}
        """Calls still to be answered 429, by method."""
        self.broken: dict[str, str] = {}
        """Methods that answer an error."""
        self.tokens = {TOKEN}
        self.url = ""
        self.sockets: list[web.WebSocketResponse] = []
        self.acknowledged: list[str] = []
        self._used: Counter[str] = Counter()
        self._stamp = 1_700_000_000
        self._runner: web.AppRunner | None = None
        self.arrived = asyncio.Event()

    async def start(self) -> None:
        app = web.Application(client_max_size=10_000_000)
        app.router.add_route("*", "/api/{method}", self._api)
        app.router.add_post("/upload/{file}", self._upload)
        app.router.add_post("/response/{name}", self._response)
        app.router.add_get("/socket", self._socket)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        for socket in self.sockets:
            await socket.close()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    def address(self, name: str) -> str:
        return f"{self.url}/response/{name}"

    async def until(self, ready: Callable[[], bool], seconds: float = 60) -> None:
        async with asyncio.timeout(seconds):
            while not ready():
                self.arrived.clear()
                try:
                    await asyncio.wait_for(self.arrived.wait(), 0.05)
                except TimeoutError:
                    continue

    async def _api(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        self.calls[method] += 1
        if self.busy.get(method, 0) > 0:
            self.busy[method] -= 1
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": "1"})
        if method in self.broken:
            return web.json_response({"ok": False, "error": self.broken[method]})
        values = await _values(request)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ") or values.get("token", "")
        if method not in {"oauth.v2.access", "apps.connections.open"} and token not in self.tokens:
            return web.json_response({"ok": False, "error": "invalid_auth"})
        answer = getattr(self, "_" + method.replace(".", "_"))(values)
        self.arrived.set()
        return web.json_response(answer)

    def _auth_test(self, _: dict[str, Any]) -> dict[str, Any]:
        return {
            "ok": True,
            "team": "Loopback",
            "team_id": TEAM,
            "user_id": BOT,
            "bot_id": "B0CAP",
            "url": "",
            "user": "cap",
        }

    def _oauth_v2_access(self, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("code") != "good-code":
            return {"ok": False, "error": "invalid_code"}
        return {
            "ok": True,
            "access_token": TOKEN,
            "scope": "commands,chat:write",
            "team": {"id": TEAM, "name": "Loopback"},
            "authed_user": {"id": "U0ADMIN"},
        }

    def _apps_connections_open(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "url": self.url.replace("http", "ws") + "/socket"}

    def _chat_postMessage(self, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's name
        blocks = self._checked(values)
        self._stamp += 1
        stamp = f"{self._stamp}.000100"
        self.messages.append(
            {
                "channel": values["channel"],
                "thread": values.get("thread_ts"),
                "ts": stamp,
                "edits": 0,
                "text": values.get("text", ""),
                "blocks": blocks,
            }
        )
        return {"ok": True, "ts": stamp, "channel": values["channel"]}

    def _chat_update(self, values: dict[str, Any]) -> dict[str, Any]:
        message = next((m for m in self.messages if m["ts"] == values["ts"]), None)
        if message is None:
            return {"ok": False, "error": "message_not_found"}
        message.update(text=values.get("text", ""), blocks=self._checked(values), edits=message["edits"] + 1)
        return {"ok": True, "ts": values["ts"], "channel": values["channel"]}

    def _files_getUploadURLExternal(self, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's name
        if int(values["length"]) < 1 or not values["filename"] or not values.get("alt_txt"):
            self.faults.append("upload without length, name or alt text")
        name = f"F{len(self.files):04d}"
        self.files.append({"id": name, "length": int(values["length"]), "alt": values.get("alt_txt"), "done": False})
        return {"ok": True, "upload_url": f"{self.url}/upload/{name}", "file_id": name}

    def _files_completeUploadExternal(self, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's name
        files = values["files"] if isinstance(values["files"], list) else json.loads(values["files"])
        for each in files:
            next(f for f in self.files if f["id"] == each["id"])["done"] = True
        return {"ok": True, "files": files}

    async def _upload(self, request: web.Request) -> web.Response:
        file = next(f for f in self.files if f["id"] == request.match_info["file"])
        content = await request.read()
        if b"\x89PNG" not in content:
            self.faults.append("an upload that is no PNG")
        file["content"] = content
        return web.Response(text="OK")

    async def _response(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        self._used[name] += 1
        if self.busy.get(name, 0) > 0:
            self.busy[name] -= 1
            return web.Response(status=429, headers={"Retry-After": "1"}, text="rate_limited")
        if self._used[name] > RESPONSES:
            self.faults.append(f"response address {name} used {self._used[name]} times")
            return web.Response(status=404, text="used_url")
        body = await request.json()
        body["blocks"] = self._checked(body)
        self.responses.append({"name": name, **body})
        self.arrived.set()
        return web.Response(text="ok")

    def _checked(self, values: dict[str, Any]) -> list[dict[str, Any]]:
        """The blocks of a message, every limit enforced and text that would ping noted."""
        blocks = values.get("blocks") or []
        blocks = blocks if isinstance(blocks, list) else json.loads(blocks)
        self.faults += faults(blocks) if blocks else []
        if not values.get("text") or len(values["text"]) > TEXT_LIMIT:
            self.faults.append("a message without fallback text")
        for block in Block.parse_all(blocks):
            block.validate_json()
        known = {f["id"] for f in self.files if f["done"]}
        self.faults += [
            f"picture {b['slack_file']['id']} was not uploaded"
            for b in blocks
            if b["type"] == "image" and b["slack_file"]["id"] not in known
        ]
        whole = json.dumps(blocks) + values.get("text", "")
        self.faults += [
            f"the reply repeats {bad}" for bad in ("<!", "evil.example", "<script", "<@", "<http") if bad in whole
        ]
        return blocks

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A0"}})
        self.sockets.append(socket)
        self.arrived.set()
        async for message in socket:
            if message.type == WSMsgType.TEXT and message.data.startswith("{"):
                body = json.loads(message.data)
                if "envelope_id" in body:
                    self.acknowledged.append(body["envelope_id"])
                    self.arrived.set()
        return socket


async def _values(request: web.Request) -> dict[str, Any]:
    body = await request.json() if request.content_type == "application/json" else await request.post()
    return dict(request.query) | dict(body)


def text_of(blocks: list[dict[str, Any]]) -> str:
    """Everything a message says, as one string."""
    return json.dumps(blocks, ensure_ascii=False)
