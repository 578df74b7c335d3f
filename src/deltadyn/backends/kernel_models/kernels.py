"""All kernels, by the C source that compiles them, and each as straight-line code."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from deltadyn.backends.kernel_models.columns import column_models
from deltadyn.backends.kernel_models.motion import (
    Model,
    friction_model,
    kinematics_models,
    torque_models,
)
from deltadyn.backends.kernel_models.passive import passive_models
from deltadyn.backends.kernel_models.plant import plant_models
from deltadyn.backends.kernel_models.terms import term_models
from deltadyn.backends.layout import COUNT
from deltadyn.kinematics.actuation import kernel_name, legs_of
from deltadyn.tape.tape import Function, Number, trace

#: Actuations beside the standard arm, those of them that go with a spindle, other platforms.
ACTUATIONS = ("inclined", "vertical", "rail")
SPINDLES = ("inclined", "rail")
PLATFORMS = ("planar", "rail_planar", "articulated", "rail_articulated", "helical", "rail_helical")
#: Kernels that only calls by packed numbers need: the largest ones.
BY_NUMBERS = ("joint_terms", "payload")


def kernels() -> dict[str, list[Model]]:
    """The kernels that Python calls, in the order of their numbers: of the Delta, of others."""
    delta = kinematics_models()
    for makers in ((torque_models,), (column_models,), (term_models,), (passive_models,)):
        delta += [model for dof in (3, 4) for make in makers for model in make(dof)]
    actuations = []
    for kind in ACTUATIONS:
        actuations += _models_of(kind)
        actuations += passive_models(3, kind) if kind == "inclined" else []
        actuations += _spindle_models(kind) if kind in SPINDLES else []
    platforms = [model for kind in PLATFORMS for model in _models_of(kind)]
    return {"delta": delta, "actuations": actuations, "platforms": platforms}


def _models_of(kind: str) -> list[Model]:
    """All kernels of one composition, without a spindle."""
    dof = legs_of(kind)
    return [*kinematics_models(kind, spindle=False), *_dynamics_models(dof, kind)]


def _spindle_models(kind: str) -> list[Model]:
    """What a spindle adds to the kernels of an actuation."""
    return [*kinematics_models(kind, spindle=True), *_dynamics_models(4, kind)]


def _dynamics_models(dof: int, kind: str) -> list[Model]:
    """With four axes without those that only calls by packed numbers need."""
    makers = (torque_models, column_models, term_models)
    found = [model for make in makers for model in make(dof, kind)]
    left_out = [kernel_name(name, kind, dof) for name in BY_NUMBERS] if dof == 4 else []
    return [model for model in found if model.name not in left_out]


def inner_models() -> dict[str, list[Model]]:
    """What C alone calls: friction on top of a torque, and the mechanism of the plant."""
    return {
        "friction": [friction_model(dof) for dof in (2, 3, 4)],
        "mechanism": [model for dof in (3, 4) for model in plant_models(dof)],
    }


def widths_of(model: Model) -> list[int]:
    """Columns of the groups of a kernel's inputs, with those that the loop around it adds."""
    widths = [width for _, width in model.inputs]
    widths += [model.angles[1]] * 2 if model.angles[1] else []
    widths += [2] if model.bars else []
    return widths + ([model.rates[1]] * 2 if model.rates[1] else [])


def traced(model: Model) -> Function:
    """A kernel as a function of the robot's numbers `par` and of columns `x`."""
    widths = widths_of(model)

    def code(par: tuple[Number, ...], x: tuple[Number, ...]) -> list[Any]:
        return list(model.trace(par, split(x, widths)))

    return trace(model.name, {"par": COUNT, "x": sum(widths)}, code)


def split(columns: Any, widths: list[int]) -> list[tuple[Any, ...]]:
    """Columns in groups of these widths."""
    starts = [sum(widths[:k]) for k in range(len(widths))]
    return [tuple(columns[a : a + width]) for a, width in zip(starts, widths, strict=True)]


@lru_cache(maxsize=1)
def models_by_name() -> dict[str, Model]:
    """Every kernel and what C alone calls, by its name."""
    parts = {**kernels(), **inner_models()}
    return {model.name: model for part in parts.values() for model in part}


@lru_cache(maxsize=256)
def kernel_function(name: str) -> Function:
    """The straight-line code of a kernel."""
    return traced(models_by_name()[name])
