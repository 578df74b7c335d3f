"""The methods by name. A new one is a file beside this one, and a row here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltadyn.errors import UnknownNameError
from deltadyn.identification.methods.base import Base, Robust
from deltadyn.identification.methods.convex import Convex
from deltadyn.identification.methods.gray_box import GrayBoxFit
from deltadyn.identification.methods.l1 import L1
from deltadyn.identification.methods.log_cholesky import LogCholesky
from deltadyn.identification.methods.recursive import Damped, Rls, Svd
from deltadyn.identification.methods.swarm import Swarm
from deltadyn.identification.methods.two_step import TwoStep
from deltadyn.identification.problem import Method
from deltadyn.options import merged

#: Every method; the class holds its options as fields.
METHODS: dict[str, type[Method]] = {
    kind.name: kind
    for kind in (
        Swarm,
        Rls,
        Damped,
        Svd,
        L1,
        GrayBoxFit,
        Base,
        LogCholesky,
        TwoStep,
        Convex,
        Robust,
    )
}


def method_by_name(name: str) -> type[Method]:
    """The method of that name."""
    try:
        return METHODS[name]
    except (KeyError, TypeError):
        raise UnknownNameError("method", name, METHODS) from None


def method_of(
    given: str | Method, options: Mapping[str, Any], common: Sequence[str] = ()
) -> Method:
    """A method by name or as it is, with these options; an error names `common` ones, too."""
    kind = type(given) if isinstance(given, Method) else method_by_name(given)
    own = given if isinstance(given, Method) else None
    return merged(kind, own, options, what=f"option of {kind.name!r}", besides=common)
