"""Options of a call: an object with documented fields, or the same fields as keywords."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from deltadyn.errors import InputError, UnknownNameError

T = TypeVar("T")


def names_of(kind: type[Any]) -> tuple[str, ...]:
    """The fields of an options class: the keywords that a call may have."""
    return tuple(field.name for field in fields(kind))


def parted(kind: type[Any], keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keywords that are fields of an options class, and the others."""
    known = names_of(kind)
    own = {name: value for name, value in keywords.items() if name in known}
    others = {name: value for name, value in keywords.items() if name not in known}
    return own, others


def merged(
    kind: type[T],
    options: T | None,
    keywords: Mapping[str, Any],
    *,
    what: str = "option",
    besides: Iterable[str] = (),
) -> T:
    """The options of a call: the object that was given, with the keywords in its fields.

    A keyword that is no field is refused; the values are checked by the class itself. The message
    calls it `what`, and lists `besides` the keywords that the call takes elsewhere.
    """
    known = names_of(kind)
    for name in keywords:
        if name not in known:
            raise UnknownNameError(what, name, (*known, *besides))
    if options is None:
        return kind(**keywords)
    if not isinstance(options, kind):
        allowed = f"{kind.__name__}(...) of {kind.__module__}, or None"
        raise InputError("options", type(options).__name__, allowed)
    return replace(options, **keywords) if keywords else options  # type: ignore[type-var]
