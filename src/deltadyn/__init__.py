"""deltadyn: dynamic models of Delta robots, from a robot description to a model to deploy.

Names are loaded when they are first used, so that the command line answers at once.
"""

from typing import TYPE_CHECKING, Any

from deltadyn import moved

if TYPE_CHECKING:
    from deltadyn import (
        calibration,
        dynamics,
        exports,
        fleet,
        force,
        history,
        identification,
        inspection,
        kinematics,
        motion,
        payload,
        recording,
        report,
        simulation,
        sizing,
        validation,
    )
    from deltadyn.calibration import calibrate, plan_calibration
    from deltadyn.dynamics import (
        equations_of_motion,
        forward_dynamics,
        inverse_dynamics,
        inverse_dynamics_derivatives,
        regressor,
    )
    from deltadyn.errors import DeltadynError
    from deltadyn.excitation import design_excitation
    from deltadyn.exports import export
    from deltadyn.force import ForceObserver
    from deltadyn.identification import identify
    from deltadyn.inspection import check
    from deltadyn.kinematics import State, forward_kinematics, inverse_kinematics, jacobian
    from deltadyn.motion import Motion
    from deltadyn.payload import PayloadEstimator
    from deltadyn.recording import Recording, read_recording, write_recording
    from deltadyn.robot import Robot, load_robot, robot_names
    from deltadyn.simulation import (
        PD,
        AdaptiveFeedforward,
        AugmentedPD,
        ComputedTorque,
        PDFeedforward,
        PDGravity,
        simulate,
    )
    from deltadyn.sizing import fastest, motion_loads
    from deltadyn.validation import predicted_tracking, validate

__version__ = "0.1.0"

#: Public names, by the module that holds them.
_HOMES: dict[str, tuple[str, ...]] = {
    "backends": (),
    "bench": (),
    "calibration": ("calibrate", "plan_calibration"),
    "dynamics": (
        "equations_of_motion",
        "forward_dynamics",
        "inverse_dynamics",
        "inverse_dynamics_derivatives",
        "regressor",
    ),
    "errors": ("DeltadynError",),
    "excitation": ("design_excitation",),
    "exports": ("export",),
    "fleet": (),
    "force": ("ForceObserver",),
    "history": (),
    "identification": ("identify",),
    "inspection": ("check",),
    "kinematics": ("State", "forward_kinematics", "inverse_kinematics", "jacobian"),
    "motion": ("Motion",),
    "payload": ("PayloadEstimator",),
    "recording": ("Recording", "read_recording", "write_recording"),
    "report": (),
    "reproduce": (),
    "robot": ("Robot", "load_robot", "robot_names"),
    "simulation": (
        "PD",
        "AdaptiveFeedforward",
        "AugmentedPD",
        "ComputedTorque",
        "PDFeedforward",
        "PDGravity",
        "simulate",
    ),
    "sizing": ("fastest", "motion_loads"),
    "studio": (),
    "validation": ("predicted_tracking", "validate"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "PD",
    "AdaptiveFeedforward",
    "AugmentedPD",
    "ComputedTorque",
    "DeltadynError",
    "ForceObserver",
    "Motion",
    "PDFeedforward",
    "PDGravity",
    "PayloadEstimator",
    "Recording",
    "Robot",
    "State",
    "calibrate",
    "calibration",
    "check",
    "design_excitation",
    "dynamics",
    "equations_of_motion",
    "export",
    "exports",
    "fastest",
    "fleet",
    "force",
    "forward_dynamics",
    "forward_kinematics",
    "history",
    "identification",
    "identify",
    "inspection",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_kinematics",
    "jacobian",
    "kinematics",
    "load_robot",
    "motion",
    "motion_loads",
    "payload",
    "plan_calibration",
    "predicted_tracking",
    "read_recording",
    "recording",
    "regressor",
    "report",
    "robot_names",
    "simulate",
    "simulation",
    "sizing",
    "validate",
    "validation",
    "write_recording",
]

moved.install()


def __getattr__(name: str) -> Any:
    """Load a public name, or one of the package's folders, when it is first used."""
    from importlib import import_module

    if name in _HOME_OF:
        value = getattr(import_module(f"deltadyn.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value
    if name in _HOMES or name in moved.MOVED:
        return import_module(f"deltadyn.{name}")
    raise AttributeError(f"module 'deltadyn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
