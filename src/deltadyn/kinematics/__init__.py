"""Kinematics: closed forms in both directions, rates, the spindle, singularities, workspace."""

from deltadyn.kinematics.forward import forward_kinematics
from deltadyn.kinematics.inverse import inverse_kinematics, reachable
from deltadyn.kinematics.singularity import Singularity, singularity
from deltadyn.kinematics.skeleton import Skeleton, skeleton
from deltadyn.kinematics.spindle import (
    SpindleGeometry,
    SpindleMotion,
    SpindleSingularity,
    spindle_coordinates,
    spindle_determinant,
    spindle_jacobian,
    spindle_motion,
    spindle_point,
    spindle_singularity,
)
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import (
    LimbGeometry,
    StrutAngles,
    StrutRateMaps,
    StrutRates,
    jacobian,
    jacobian_rate,
    passive_rate_map,
    passive_rates,
    strut_angles,
    strut_rate_maps,
    strut_rates,
)
from deltadyn.kinematics.workspace import (
    CylinderCheck,
    WorkspaceBoundary,
    WorkspaceGrid,
    WorkspaceRules,
    cylinder_inside,
    in_workspace,
    working_cylinder,
    workspace,
    workspace_grid,
)

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
