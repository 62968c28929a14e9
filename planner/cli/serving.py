"""Running the ASGI server: bind first, say where, then answer."""

from __future__ import annotations

import json
import socket
import sys

import uvicorn

from planner.bootstrap import Planner
from planner.config import Settings
from planner.core.errors import AdapterError

_BACKLOG = 2048


def serve(planner: Planner, *, workers: int, as_json: bool) -> None:
    """Serve until interrupted; the address is printed once the port is held."""
    settings = planner.settings
    listener = _bind(settings)
    host, port = listener.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    sys.stdout.write(json.dumps({"url": url, "docs": f"{url}/docs", "database": redacted(settings.database_url)}) + "\n"
                     if as_json else f"Planner at {url} (API reference {url}/docs)\n")
    sys.stdout.flush()
    supervisor = planner.supervisor() if settings.embedded_worker else None
    planner.close()
    if supervisor is not None:
        supervisor.start()
    try:
        _run(settings, listener, workers)
    finally:
        if supervisor is not None:
            supervisor.stop()


def _run(settings: Settings, listener: socket.socket, workers: int) -> None:
    port = listener.getsockname()[1]
    config = uvicorn.Config("planner.main:create", factory=True, host=settings.host, port=port, workers=workers,
                            log_level=settings.log_level, access_log=False, server_header=False, backlog=_BACKLOG,
                            timeout_graceful_shutdown=10)
    if workers == 1:
        uvicorn.Server(config).run(sockets=[listener])
        return
    from uvicorn.supervisors import Multiprocess

    Multiprocess(config, sockets=[listener]).run()


def redacted(url: str) -> str:
    """Return a database URL without its password."""
    from planner.storage.engine import database_url

    return database_url(url).render_as_string(hide_password=True)


def _bind(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host.strip("[]"), settings.port))
    except OSError as error:
        listener.close()
        raise AdapterError(f"Port {settings.port} on {settings.host} cannot be used: {error.strerror}.",
                           hint=f"Choose another: planner serve --port {settings.port + 1}.") from None
    listener.listen(_BACKLOG)  # so that whoever reads the address may ask at once
    listener.set_inheritable(True)
    return listener
