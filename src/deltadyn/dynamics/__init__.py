"""Dynamics: every model by name, its terms, regressor, forward dynamics and loads."""

from deltadyn.dynamics.base import BaseParameter, BaseParameters, base_parameters
from deltadyn.dynamics.components import FrictionTerms
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
from deltadyn.dynamics.loads import ConstraintLoads, constraint_loads
from deltadyn.dynamics.loads_rods import RodLoads
from deltadyn.dynamics.models import MODELS
from deltadyn.dynamics.packed import packed_parameters
from deltadyn.dynamics.packed_model import (
    packed_acceleration,
    packed_joint_torque,
    packed_torque,
    torque_components,
)
from deltadyn.dynamics.packed_names import packing
from deltadyn.dynamics.parameters import ExactParameters, exact_parameters
from deltadyn.dynamics.regressor import Regressor, regressor

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
    "base_parameters",
    "constraint_loads",
    "coupling_map",
    "coupling_summary",
    "energy",
    "equations_of_motion",
    "exact_parameters",
    "forward_dynamics",
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
