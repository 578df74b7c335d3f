"""Modules that have moved: their old names work for one release, with a warning."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `deltadyn --help` waits for this module
    from collections.abc import Sequence
    from types import ModuleType

#: Old name and new name, both below `deltadyn`: what documentation and examples of 0.1 import.
MOVED = {
    "backends.packed_model": "backends.components",
    "catalogue": "robot.catalogue",
    "identification.band": "recording.prepare.band",
    "identification.data": "recording.prepare.data",
    "identification.stream": "recording.prepare.stream",
    "identification.two_step": "identification.methods.two_step",
    "kernels": "backends",
    "kernels.layout": "backends.layout",
    "kinematics.rates": "kinematics.struts",
    "pages": "report.html",
    "payload.live_mqtt": "streams.transports",
    "payload.live_opcua": "streams.transports",
    "payload.packing": "streams.packing",
    "payload.streams": "streams.transports",
    "recording.bandwidth": "recording.rates.bandwidth",
    "recording.derivatives": "recording.rates.differentiate",
    "recording.findings": "recording.checks.findings",
    "recording.periods": "recording.alignment",
    "recording.sampling": "recording.rates.sampling",
    "robot_bodies": "robot.bodies",
    "robot_file": "robot.file",
    "robot_settings": "robot.settings",
    "simulation.reference": "simulation.drive.reference",
}


class _Forwarding:
    """Makes a module whose names are those of another."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        target = import_module(self.target)
        vars(module)["__getattr__"] = lambda name: getattr(target, name)
        vars(module)["__dir__"] = lambda: dir(target)
        if hasattr(target, "__all__"):
            vars(module)["__all__"] = target.__all__


class _Finder:
    """Finds old names, after every other finder has failed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package != "deltadyn" or name not in MOVED:
            return None
        new = f"deltadyn.{MOVED[name]}"
        text = f"{fullname} has moved to {new}; the old name goes with the next release"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        loader: Any = _Forwarding(new)
        return ModuleSpec(fullname, loader, is_package=name == "kernels")


def install() -> None:
    """Let the old names be imported."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
