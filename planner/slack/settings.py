"""What the environment says about Slack; without a signing secret and an encryption key the app stays off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.fernet import Fernet

from planner.core.errors import DomainError

SCOPES = (
    "app_mentions:read",
    "channels:history",
    "chat:write",
    "commands",
    "files:write",
    "groups:history",
    "im:history",
    "im:read",
    "im:write",
)
"""What the app asks of a workspace, as in deploy/slack-manifest.yaml."""


class BadSlackSetting(DomainError):  # noqa: N818 - read as the refusal it is
    """A Slack variable does not hold what it should."""

    code = "bad_setting"
    title = "A setting is not usable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """Everything the environment decides about Slack; docs/slack.md lists each variable."""

    signing_secret: str
    encryption_key: str
    """Fernet key under which tokens and texts are stored."""
    client_id: str | None = None
    client_secret: str | None = None
    """With both, workspaces install the app by themselves at /slack/install."""
    bot_token: str | None = None
    """The token of a single workspace, in place of installing."""
    app_token: str | None = None
    """For Socket Mode: `planner slack`."""
    admin_token: str | None = None
    """Password of /slack/admin; without it the page does not exist."""
    api_url: str = "https://slack.com/api/"
    public_url: str | None = None
    """Where people reach the web app, for links in answers."""
    user_per_minute: int = 20
    workspace_per_minute: int = 120


def slack_settings(environment: Mapping[str, str]) -> SlackSettings | None:
    """Read the settings; None when Slack is not configured."""

    def value(name: str) -> str | None:
        return environment.get(f"PLANNER_SLACK_{name}") or None

    secret, key = value("SIGNING_SECRET"), value("ENCRYPTION_KEY")
    if secret is None and value("APP_TOKEN") is None:
        return None
    if key is None:
        raise BadSlackSetting(
            "PLANNER_SLACK_ENCRYPTION_KEY is missing: tokens are only stored encrypted.",
            hint='Make one: python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"',
        )
    try:
        Fernet(key)
    except ValueError:
        raise BadSlackSetting("PLANNER_SLACK_ENCRYPTION_KEY is not a Fernet key (32 bytes, url-safe base64).") from None
    return SlackSettings(
        signing_secret=secret or "",
        encryption_key=key,
        client_id=value("CLIENT_ID"),
        client_secret=value("CLIENT_SECRET"),
        bot_token=value("BOT_TOKEN"),
        app_token=value("APP_TOKEN"),
        admin_token=value("ADMIN_TOKEN"),
        api_url=value("API_URL") or "https://slack.com/api/",
        public_url=(value("PUBLIC_URL") or "").rstrip("/") or None,
        user_per_minute=_whole(value("USER_PER_MINUTE"), 20),
        workspace_per_minute=_whole(value("WORKSPACE_PER_MINUTE"), 120),
    )


def _whole(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not text.isdigit() or int(text) < 1:
        raise BadSlackSetting(f"A Slack rate limit must be a whole number of at least 1, got {text!r}.")
    return int(text)
