"""Texts that reach a person: without passwords, without control characters, of bounded length."""

from __future__ import annotations

import re

MAX_MESSAGE_CHARACTERS = 2000
MAX_VALUE_CHARACTERS = 300  # of a value in a message
HIDDEN = "***"  # stands for what is secret

_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+://)([^/\s?#'\"]*)@")
_SECRET_NAME = (
    r"(?:[A-Za-z0-9_.-]*(?:pass|pwd|token|secret|key|cred|signature|auth)[A-Za-z0-9_.-]*|sig)"
)
_SECRET_VALUE = re.compile(rf"([?&;]{_SECRET_NAME})=[^&;\s'\"]+", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def hide_passwords(text: str) -> str:
    """A text whose URLs have no password, and no key or token among their options.

    The user's name stays where a password stood beside it; http takes a name alone as a token.
    """
    if "://" not in text:
        return text
    return _SECRET_VALUE.sub(rf"\1={HIDDEN}", _USER.sub(_without_password, text))


def is_secret_name(name: str) -> bool:
    """Whether the value of an option of that name is a password, a key or a token."""
    return re.fullmatch(_SECRET_NAME, name, re.IGNORECASE) is not None


def _without_password(match: re.Match[str]) -> str:
    """The scheme and the user of one URL."""
    scheme, (user, colon, _) = match[1], match[2].partition(":")
    if colon:
        return f"{scheme}{user}:{HIDDEN}@"
    return f"{scheme}{HIDDEN}@" if scheme.lower().startswith("http") else match[0]


def escape_control_characters(text: str) -> str:
    r"""A text in which \x1b stands for what a terminal would obey; ends of lines and tabs stay."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def shorten(text: str, limit: int = MAX_MESSAGE_CHARACTERS) -> str:
    """A text of at most `limit` characters: its beginning and its end, which says what is right."""
    if len(text) <= limit:
        return text
    gap = f" ... ({len(text):,} characters) ... "
    tail = (limit - len(gap)) // 4
    return text[: limit - len(gap) - tail] + gap + text[len(text) - tail :]


def readable(text: str) -> str:
    """A message as it may be shown, printed and kept."""
    return shorten(escape_control_characters(hide_passwords(text)))
