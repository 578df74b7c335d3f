"""Exports: the identified model in a controller, a PLC, MuJoCo, an FMU, and parameter sheets."""

from deltadyn.exports.export import TARGETS, Export, export
from deltadyn.exports.pinocchio import PinocchioDelta, pinocchio_model

__all__ = ["TARGETS", "Export", "PinocchioDelta", "export", "pinocchio_model"]
