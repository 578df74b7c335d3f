"""Kinematics: closed forms in both directions, rates, the spindle, singularities, workspace."""

from deltadyn.kinematics.forward import forward_kinematics
from deltadyn.kinematics.inverse import inverse_kinematics, reachable
from deltadyn.kinematics.passive import passive_rate_map, passive_rates
from deltadyn.kinematics.rates import LimbGeometry, jacobian, jacobian_rate
from deltadyn.kinematics.singularity import Singularity, singularity
from deltadyn.kinematics.skeleton import Skeleton, skeleton
from deltadyn.kinematics.spindle import SpindleGeometry, SpindleMotion, spindle_motion
from deltadyn.kinematics.spindle_coordinates import (
    SpindleSingularity,
    spindle_coordinates,
    spindle_determinant,
    spindle_jacobian,
    spindle_point,
    spindle_singularity,
)
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import (
    StrutAngles,
    StrutRateMaps,
    StrutRates,
    strut_angles,
    strut_rate_maps,
    strut_rates,
)
from deltadyn.kinematics.workspace import (
    CylinderCheck,
    WorkspaceBoundary,
    WorkspaceGrid,
    cylinder_inside,
    working_cylinder,
    workspace,
    workspace_grid,
)
from deltadyn.kinematics.workspace_rules import WorkspaceRules, in_workspace

__all__ = [
    "CylinderCheck",
    "LimbGeometry",
    "Singularity",
    "Skeleton",
    "SpindleGeometry",
    "SpindleMotion",
    "SpindleSingularity",
    "State",
    "StrutAngles",
    "StrutRateMaps",
    "StrutRates",
    "WorkspaceBoundary",
    "WorkspaceGrid",
    "WorkspaceRules",
    "cylinder_inside",
    "forward_kinematics",
    "in_workspace",
    "inverse_kinematics",
    "jacobian",
    "jacobian_rate",
    "passive_rate_map",
    "passive_rates",
    "reachable",
    "singularity",
    "skeleton",
    "spindle_coordinates",
    "spindle_determinant",
    "spindle_jacobian",
    "spindle_motion",
    "spindle_point",
    "spindle_singularity",
    "strut_angles",
    "strut_rate_maps",
    "strut_rates",
    "working_cylinder",
    "workspace",
    "workspace_grid",
]
