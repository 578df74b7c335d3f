"""Exports: the identified model in a controller, a PLC, MuJoCo, an FMU, and parameter sheets."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deltadyn.exports.export import TARGETS, Export, export
from deltadyn.exports.pinocchio import PinocchioDelta, pinocchio_model

if TYPE_CHECKING:
    from deltadyn.exports.fmu import compiled as compile_c
    from deltadyn.exports.fmu import compiler as c_compiler

__all__ = [
    "TARGETS",
    "Export",
    "PinocchioDelta",
    "c_compiler",
    "compile_c",
    "export",
    "pinocchio_model",
]

# Loaded when first used: the FMU's writer is not needed for the other targets.
_OF_FMU = {"c_compiler": "compiler", "compile_c": "compiled"}


def __getattr__(name: str) -> Any:
    """Load a public name that lives in `deltadyn.exports.fmu`."""
    if name not in _OF_FMU:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("deltadyn.exports.fmu"), _OF_FMU[name])
