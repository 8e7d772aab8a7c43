"""Reads the URL of a model endpoint without ever quoting what may be a secret in it."""

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

_BLANK = re.compile(r"\s")
_SECRETS = {"access_token", "api-key", "api_key", "apikey", "key", "token"}


def split_url(url: str) -> SplitResult:
    """Take a URL apart.

    Raises:
        ValueError: It cannot be read; the message does not quote it.
    """
    msg = "it cannot be read as a URL: look at host and port"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # its message may hold the user name and password
        raise ValueError(msg) from None
    if port == 0 or _BLANK.search(parts.netloc):
        raise ValueError(msg)
    return parts


def secret_in(parts: SplitResult) -> str | None:
    """What of a URL would be a secret, or None; a query parameter is named, its value never.

    A URL without a scheme is looked at too: ``user:password@host`` is taken apart as one of the
    scheme ``user``.
    """
    if parts.username is not None or parts.password is not None:
        return "user name or password"
    if not (parts.scheme in ("http", "https") and parts.hostname) and "@" in parts.geturl():
        return "user name or password"
    named = [name for name, _ in parse_qsl(parts.query) + parse_qsl(parts.fragment)]
    found = sorted(name for name in named if name.lower() in _SECRETS)
    return f"query parameter {found[0]!r}" if found else None


def is_secret_url(text: str) -> bool:
    """Whether a text is a URL that holds a secret, or one that cannot be read and so may."""
    if "://" not in text:
        return False
    try:
        return secret_in(split_url(text)) is not None
    except ValueError:
        return True
