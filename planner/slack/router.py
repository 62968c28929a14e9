"""The addresses Slack calls, the installation, and the admin page."""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from html import escape
from urllib.parse import urlencode

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from prometheus_client import Counter
from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_sdk.errors import SlackApiError

from planner.bootstrap import Planner
from planner.slack.app import SlackApp, slack_app
from planner.slack.settings import SCOPES
from planner.slack.signing import refusal

_STATUS = {"oversized": 413, "unsigned": 401, "stale": 401, "forged": 401, "malformed": 400}
AUDIT_LINES = 100


def mount(app: FastAPI, planner: Planner, clock: Callable[[], float] = time.time) -> SlackApp | None:
    """Add the Slack app to the service when the settings configure one."""
    slack = slack_app(planner)
    if slack is None:
        return None
    refused = Counter(
        "planner_slack_refused",
        "Requests to /slack that were refused, by reason.",
        ["reason"],
        registry=app.state.registry,
    )
    app.state.slack = slack
    app.include_router(_deliveries(slack, clock, refused))
    app.include_router(_installing(slack))
    app.include_router(_administration(slack))
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(running: FastAPI) -> AsyncIterator[None]:
        async with inner(running):
            await slack.start()
            yield
            await slack.stop()

    app.router.lifespan_context = lifespan
    return slack


def _deliveries(slack: SlackApp, clock: Callable[[], float], refused: Counter) -> APIRouter:
    """Signed requests into bolt; everything else is refused and counted."""
    router = APIRouter(prefix="/slack", include_in_schema=False)
    handler = AsyncSlackRequestHandler(slack.bolt)

    def refuse(reason: str) -> Response:
        slack.desk.counters.refused[reason] = slack.desk.counters.refused.get(reason, 0) + 1
        refused.labels(reason).inc()
        return Response(reason, status_code=_STATUS[reason], media_type="text/plain")

    @router.post("/commands")
    @router.post("/events")
    @router.post("/interactions")
    async def deliver(request: Request) -> Response:
        """Take one delivery in."""
        body = await request.body()
        reason = refusal(slack.settings.signing_secret, request.headers, body, clock())
        if reason is not None:
            return refuse(reason)
        try:
            answer: Response = await handler.handle(request)
        except (ValueError, KeyError, TypeError, AttributeError):
            return refuse("malformed")
        return answer

    return router


def _installing(slack: SlackApp) -> APIRouter:
    """How a workspace gets the app."""
    router = APIRouter(prefix="/slack", include_in_schema=False)
    settings = slack.settings

    @router.get("/install")
    async def install(request: Request) -> Response:
        """Send an admin of a workspace to Slack's consent page."""
        if settings.client_id is None or settings.client_secret is None:
            return Response("Installing is not configured.", status_code=404)
        query = urlencode(
            {
                "client_id": settings.client_id,
                "scope": ",".join(SCOPES),
                "state": slack.installs.ticket(),
                "redirect_uri": _redirect(slack, request),
            }
        )
        return RedirectResponse(f"https://slack.com/oauth/v2/authorize?{query}", status_code=302)

    @router.get("/oauth_redirect")
    async def oauth_redirect(request: Request, code: str = "", state: str = "") -> Response:
        """Finish an installation."""
        if settings.client_id is None or settings.client_secret is None:
            return Response("Installing is not configured.", status_code=404)
        try:
            made = await slack.installs.exchange(code, state, _redirect(slack, request))
        except SlackApiError:
            made = None
        if made is None:
            return Response("The installation could not be finished; begin again at /slack/install.", status_code=400)
        return HTMLResponse(_page("Installed", f"<p>The capacity app now answers in {escape(made.team_name)}.</p>"))

    return router


def _administration(slack: SlackApp) -> APIRouter:
    """Who has the app, and what happened."""
    router = APIRouter(prefix="/slack", include_in_schema=False)
    settings = slack.settings

    @router.get("/admin")
    async def admin(request: Request) -> Response:
        """Show installs, counters and the audit log to whoever has the admin token."""
        if settings.admin_token is None:
            return Response("Not found", status_code=404)
        if not _allowed(request.headers.get("authorization", ""), settings.admin_token):
            return Response(
                "Password: the admin token.",
                status_code=401,
                headers={"WWW-Authenticate": 'Basic realm="Slack installs"'},
            )
        return HTMLResponse(await _overview(slack), headers={"Cache-Control": "no-store"})

    return router


def _redirect(slack: SlackApp, request: Request) -> str:
    base = slack.settings.public_url or str(request.base_url).rstrip("/")
    return f"{base}/slack/oauth_redirect"


def _allowed(header: str, token: str) -> bool:
    """Whether a Basic header carries the admin token as its password."""
    scheme, _, encoded = header.partition(" ")
    try:
        password = base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except ValueError:
        return False
    return scheme.lower() == "basic" and hmac.compare_digest(password.encode(), token.encode())


async def _overview(slack: SlackApp) -> str:
    """The admin page."""
    installs = await slack.memory.on_disk(slack.store.installs)
    audit = await slack.memory.on_disk(slack.store.audit, AUDIT_LINES)
    rows = [
        (i.team_name, i.team_id, i.state, i.installed_by, _time(i.installed_at), _time(i.used_at)) for i in installs
    ]
    lines = [(_time(a.at), a.team_id, a.user, a.action, a.outcome) for a in audit]
    counters = slack.desk.counters
    counts = [
        ("answered", counters.answered),
        ("duplicates dropped", counters.duplicates),
        ("rate limited", counters.limited),
        ("failed", counters.failed),
        *((f"refused: {reason}", n) for reason, n in sorted(counters.refused.items())),
    ]
    return _page(
        "Slack installs",
        _table(("Workspace", "Id", "State", "Installed by", "Installed", "Last question"), rows)
        + "<h2>Since the start</h2>"
        + _table(("What", "How often"), [(k, str(v)) for k, v in counts])
        + "<h2>Audit log</h2>"
        + _table(("When", "Workspace", "User", "Action", "Outcome"), lines),
    )


def _time(moment: datetime | None) -> str:
    return "never" if moment is None else moment.strftime("%Y-%m-%d %H:%M UTC")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """An HTML table; every cell is escaped."""
    cells = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        "<table><thead><tr>"
        + "".join(f"<th scope=col>{escape(h)}</th>" for h in head)
        + f"</tr></thead><tbody>{cells}</tbody></table>"
    )


def _page(title: str, body: str) -> str:
    style = (
        "body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#12161c}"
        "table{border-collapse:collapse;width:100%}"
        "th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #e3e7ec}"
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{style}</style></head><body><h1>{escape(title)}</h1>{body}</body></html>"
    )
