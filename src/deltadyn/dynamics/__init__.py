"""Dynamics: every model by name, its terms, regressor, forward dynamics and loads."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deltadyn.dynamics.base import BaseParameter, BaseParameters, base_parameters
from deltadyn.dynamics.carried import SpindleLoads
from deltadyn.dynamics.coupling import (
    CouplingMap,
    CouplingSummary,
    InertiaCoupling,
    coupling_map,
    coupling_summary,
    inertia_coupling,
)
from deltadyn.dynamics.energy import Energy, PowerBalance, energy, power_balance
from deltadyn.dynamics.forward import forward_dynamics
from deltadyn.dynamics.inverse import EquationsOfMotion, equations_of_motion, inverse_dynamics
from deltadyn.dynamics.loads import ConstraintLoads, RodLoads, constraint_loads
from deltadyn.dynamics.lumped import half_half_parameters
from deltadyn.dynamics.models import MODELS
from deltadyn.dynamics.parameters import ExactParameters, exact_parameters
from deltadyn.dynamics.regressor import Regressor, regressor

if TYPE_CHECKING:
    from deltadyn.backends.components import (
        FrictionTerms,
        packed_acceleration,
        packed_joint_torque,
        packed_torque,
        torque_components,
    )
    from deltadyn.backends.packed import packed_parameters, packing

# Loaded when first used: backends are written with the names of this folder.
_OF_BACKENDS = {
    "FrictionTerms": "components",
    "packed_acceleration": "components",
    "packed_joint_torque": "components",
    "packed_parameters": "packed",
    "packed_torque": "components",
    "packing": "packed",
    "torque_components": "components",
}

__all__ = [
    "MODELS",
    "BaseParameter",
    "BaseParameters",
    "ConstraintLoads",
    "CouplingMap",
    "CouplingSummary",
    "Energy",
    "EquationsOfMotion",
    "ExactParameters",
    "FrictionTerms",
    "InertiaCoupling",
    "PowerBalance",
    "Regressor",
    "RodLoads",
    "SpindleLoads",
    "base_parameters",
    "constraint_loads",
    "coupling_map",
    "coupling_summary",
    "energy",
    "equations_of_motion",
    "exact_parameters",
    "forward_dynamics",
    "half_half_parameters",
    "inertia_coupling",
    "inverse_dynamics",
    "packed_acceleration",
    "packed_joint_torque",
    "packed_parameters",
    "packed_torque",
    "packing",
    "power_balance",
    "regressor",
    "torque_components",
]


def __getattr__(name: str) -> Any:
    """Load a public name that lives in `deltadyn.backends`."""
    if name not in _OF_BACKENDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"deltadyn.backends.{_OF_BACKENDS[name]}"), name)
    globals()[name] = value
    return value
