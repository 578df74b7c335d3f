"""The kernels in floats: compiled on their own, and the torques that the extension offers."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.dynamics.factory import full_friction, make_robot, make_states
from tests.family.random_robots import make_robot as make_random
from tests.family.robots import make as make_family
from tests.family.robots import waves
from tests.kernels.comparison import needs_kernels
from tests.kernels.robots import wide_robot

import deltadyn.backends
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.backends.kernel_models.headers import write_headers
from deltadyn.backends.kernel_models.kernels import kernels as kernel_parts
from deltadyn.backends.kernel_models.kernels import models_by_name
from deltadyn.dynamics import packed_parameters
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot

FOLDER = Path(deltadyn.backends.__file__).parent
PARTS = kernel_parts()
THREE_LIMBS = [model.name for part in ("delta", "actuations") for model in PARTS[part]]
KERNELS = [*THREE_LIMBS, *(model.name for model in PARTS["platforms"])]

# A float has 24 bits: 6e-8. A result is a sum of some tens of products, some of them ten times
# larger than it: 1e-6 of the largest entry was seen in these states; ten times that is allowed.
RELATIVE = 1e-5

PROGRAM = """
#define DELTADYN_DELTA
#define DELTADYN_ACTUATIONS
#define DELTADYN_CHOSEN(X) DELTADYN_DELTA_KERNELS(X) DELTADYN_ACTUATIONS_KERNELS(X)
#include "tables.h"

ptrdiff_t run_floats(
    int number, int friction, const double *par, float *const *arrays, ptrdiff_t rows)
{
    const kernel *k = &KERNELS[number];
    table tables[MAX_ARRAYS];
    for (int a = 0; a < k->inputs + k->outputs; a++) {
        const ptrdiff_t width = k->width[a], hop = sizeof(float);
        const table t = { (char *)arrays[a], width * hop, hop, k->width[a] };
        tables[a] = t;
    }
    return run_all(k, friction, par, tables, rows, NULL);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """All kernels and loops in floats, compiled without a warning."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("floats")
    source, made = folder / "floats.c", folder / "floats.so"
    source.write_text(PROGRAM, "utf-8")
    write_headers(folder / "traced")
    flags = ["-std=gnu99", "-O1", "-Wall", "-Wextra", "-Wdouble-promotion", "-Werror"]
    flags += ["-Wfloat-conversion", "-DDELTADYN_FLOAT=1", "-DCLONES=", "-fno-math-errno", "-fPIC"]
    command = [
        compiler,
        *flags,
        f"-I{FOLDER / 'source'}",
        f"-I{folder}",
        "-shared",
        str(source),
        "-o",
        str(made),
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(made))
    loaded.run_floats.restype = ctypes.c_ssize_t
    return loaded


def widths(name: str) -> tuple[list[int], list[int]]:
    """Widths of the inputs and outputs of a kernel."""
    model = models_by_name()[name]
    return [width for _, width in model.inputs], [width for _, width in model.outputs]


def motion_of(name: str, robot: Robot, state: State) -> list[FloatArray]:
    """The inputs of a kernel in the given state."""
    rng = np.random.default_rng(5)
    wrench = rng.normal(size=state.q.shape) * 10
    tau = rng.normal(size=state.q.shape) * 20
    arms = [state.cos_q, state.sin_q]
    joints, platform = [state.q, state.qd, state.qdd], [state.p, state.pd, state.pdd]
    kind = re.sub(r"(_(inclined|vertical|rail))?(_[34])?$", "", name)
    known = {
        "inverse_kinematics": platform[:1],
        "forward_kinematics": joints[:1],
        "platform_state": platform,
        "platform_row": platform,
        "joint_row": joints,
        "joint_state": joints,
        "state_torque": [*arms, *joints[1:], *platform, wrench],
        "platform_torque": platform,
        "joint_torque": joints,
        "rows": [*arms, *joints[1:], *platform],
        "friction_columns": [state.qd, state.qdd, tau],
        "mass": [*arms, state.p],
        "terms": [*arms, state.qd, *platform[:2]],
        "joint_terms": joints[:2],
        "forward": [*joints[:2], tau, wrench],
        "payload": joints,
        "passive_rates": [*arms, state.qd, *platform[:2]],
        "passive_torque": [*arms, state.p, rng.normal(size=(len(state), 15))],
    }[kind]
    inputs, _ = widths(name)
    return [array[:, :width] for array, width in zip(known, inputs, strict=True)]


@pytest.mark.full
@needs_kernels
@pytest.mark.parametrize("name", THREE_LIMBS)
def test_floats_give_what_doubles_give(name: str, library: ctypes.CDLL) -> None:
    dof = 4 if "_4" in name else 3
    robot = make_robot(dof, False, friction=full_friction(dof, passive=(), smoothing=0.5))
    state = make_states(robot, 1000)
    for word, other in (("inclined", "inclined"), ("vertical", "vertical"), ("rail", "rails")):
        if f"_{word}" in name:
            robot = make_family("vertical_spindle" if dof == 4 else other)
            state = waves(robot, 0.999)
    if name.endswith("_inclined_4"):
        robot = make_random("inclined", 3, spindle=True)
        state = make_states(robot, 1000)
    par = packed_parameters(robot)
    given = [np.array(array, np.float32, order="C") for array in motion_of(name, robot, state)]
    made = [np.empty((1000, width), np.float32) for width in widths(name)[1]]
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (*given, *made)]
    arrays = (ctypes.c_void_p * len(pointers))(*pointers)
    numbers = par.ctypes.data_as(ctypes.c_void_p)
    assert library.run_floats(KERNELS.index(name), 1, numbers, arrays, ctypes.c_ssize_t(1000)) == 0
    expected = [np.empty(array.shape) for array in made]
    kernels.run(name, par, [array.astype(float) for array in given], expected, friction=True)
    for ours, known in zip(made, expected, strict=True):
        scale = np.abs(known).max(axis=0)
        error = np.abs(ours - known) / np.where(scale > 0, scale, 1.0)
        assert error.max() < RELATIVE


@needs_kernels
@pytest.mark.parametrize("dof", [3, 4])
@pytest.mark.parametrize("friction", [True, False])
def test_torques_in_floats(dof: int, friction: bool) -> None:
    robot = make_robot(dof, False, friction=full_friction(dof, passive=(), smoothing=0.5))
    state, par = make_states(robot, 1000), packed_parameters(robot)
    ways = (
        (kernels.inverse_dynamics_platform, (state.p, state.pd, state.pdd)),
        (kernels.inverse_dynamics_joints, (state.q, state.qd, state.qdd)),
    )
    for call, motion in ways:
        single = [array.astype(np.float32) for array in motion]
        ours = call(par, *single, friction=friction)
        assert ours.dtype == np.float32
        assert ours.shape == motion[0].shape
        expected = call(par, *(array.astype(float) for array in single), friction=friction)
        error = np.abs(ours - expected) / np.abs(expected).max(axis=0)
        assert error.max() < RELATIVE
        assert error.max() > 1e-9  # doubles would be closer
        one = call(par, *(array[5] for array in single), friction=friction)
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, ours[5], rtol=1e-6)
        mixed = call(par, single[0], motion[1], motion[2], friction=friction)
        np.testing.assert_array_equal(mixed, ours)
        strided = call(par, *(np.asfortranarray(array) for array in single), friction=friction)
        np.testing.assert_array_equal(strided, ours)


@needs_kernels
def test_rows_that_cannot_be_are_nan_in_floats() -> None:
    robot, q = wide_robot(3)
    q[[11, 99]] = 0.0
    q[50, 1] = np.nan
    q[70] += 2 * np.pi * 1000  # beyond the vector instructions
    motion = q.astype(np.float32)
    zero = np.zeros(3, np.float32)
    tau = kernels.inverse_dynamics_joints(packed_parameters(robot), motion, zero, zero)
    assert np.flatnonzero(np.isnan(tau).any(axis=1)).tolist() == [11, 50, 99]
    expected = kernels.inverse_dynamics_joints(
        packed_parameters(robot), motion.astype(float), zero.astype(float), zero.astype(float)
    )
    error = np.abs(tau - expected)[np.isfinite(expected)]
    assert error.max() < RELATIVE * np.nanmax(np.abs(expected))


@needs_kernels
def test_what_is_not_offered_in_floats() -> None:
    from deltadyn.backends import _kernels

    par = packed_parameters(make_robot(3, True))
    row = np.zeros((2, 3), np.float32)
    with pytest.raises(TypeError, match="inverse_kinematics computes with doubles alone"):
        _kernels.run(KERNELS.index("inverse_kinematics"), False, par, row, row.copy(), row.copy())
    number = KERNELS.index("platform_torque_3")
    with pytest.raises(TypeError, match="array 2 holds no floats, as the first array does"):
        _kernels.run(number, False, par, row, row, row.astype(float), row.copy())
