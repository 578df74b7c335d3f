"""Model exchange and directional derivatives of the units, their self-test, and their texts."""

from __future__ import annotations

import importlib
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from ctypes import c_double
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exports.fmu_units import (
    DISCARD,
    ERROR,
    CallError,
    Unit,
    axes,
    by_differences,
    columns,
    fmpy,
    made,
    needs_compiler,
    opened,
    robots,
    simulated,
    text_in,
)
from tests.exports.test_fmu_plant import FORCE, LOADS, PAYLOAD, START

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.backends.kernel_models.kernels import kernel_function, models_by_name
from deltadyn.backends.packed import packed_parameters
from deltadyn.exports.check_points import check_points
from deltadyn.exports.common import INTERFACE_VERSION, single_sample
from deltadyn.exports.fmu import compiled, compiler
from deltadyn.exports.fmu.tangents import CHANGING, tangent
from deltadyn.simulation.rollout import rollout

ROBOTS = robots()
MOTION = ("q", "qd", "qdd", "p", "pd", "pdd", "controller_q", "controller_qd")
CASES = [(3, "2.0", "plant"), (3, "2.0", "inverse"), (4, "3.0", "plant"), (4, "3.0", "inverse")]
TORQUES = np.array([12.0, 8.0, 10.0, 0.3])
REFERENCES = {
    "pd_ref": np.array([0.5, -0.4, 0.3, 1.0]),
    "pdd_ref": np.array([5.0, -4.0, 3.0, 10.0]),
}


# Derivatives of the generated functions: complex steps through the very text that is compiled.


def as_python(source: str, inputs: str) -> Callable[..., list[Any]]:
    """A generated function as one of Python, which takes complex numbers."""
    body = source[source.index("{") + 1 : source.rindex("}")]
    body = body.replace("(real)", "")
    body = re.sub(r"\(void\)\w+;", "", body).replace("const real ", "").replace(";", "")
    body = body.replace("REAL_SQRT", "sqrt").replace("REAL_ABS", "size")
    body = re.sub(
        r"= (\S+) < (\S+) \? (\S+) : (\S+)", r"= (\3) if real(\1) < real(\2) else (\4)", body
    )
    lines = "\n".join(f"    {line.strip()}" for line in body.splitlines() if line.strip())
    space: dict[str, Any] = {
        "sqrt": np.lib.scimath.sqrt,
        "size": lambda value: -value if value.real < 0 else value,
        "real": np.real,
    }
    exec(f"def function({inputs}):\n{lines}\n    return None", space)
    return space["function"]  # type: ignore[no-any-return]


DIFFERENTIATED = r"(joint_state|platform_state|state_torque|friction|passive)(_\D*)?(_?\d)?"


@pytest.mark.parametrize(
    "name",
    ["state_torque_4", "joint_state", "platform_state_rail_helical", "friction_3", "passive_4"],
)
def test_derivatives_are_those_of_the_generated_functions(name: str) -> None:
    source, function = single_sample(name, reach=False), kernel_function(name)
    rng = np.random.default_rng(len(name))
    x, par = rng.normal(size=function.inputs["x"]), 1.0 + rng.random(200)
    if name in ("joint_state", "passive_4"):  # arms and struts that meet
        par = packed_parameters(dd.load_robot("example-delta-4"))
        q, at = 0.3 + 0.1 * x[:4], 9 if name == "joint_state" else 4
        n = 3 if name == "joint_state" else 4
        x[at : at + n], x[at + n : at + 2 * n] = np.cos(q[:n]), np.sin(q[:n])
    dx, dpar = rng.normal(size=x.size), np.zeros(200)
    dpar[list(CHANGING)] = rng.normal(size=len(CHANGING))
    h = 1e-150  # no difference is taken: the step costs no digit
    stepped = np.zeros(len(function.results), dtype=complex)
    primal = as_python(source, "par, x, y")
    primal(par + 1j * h * dpar[: par.size], x + 1j * h * dx, stepped)
    changes = np.zeros(stepped.size, dtype=complex)
    as_python(tangent(name), "par, dpar, x, dx, dy")(par, dpar, x, dx, changes)
    expected = stepped.imag / h
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(changes.real, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_every_generated_function_of_a_unit_has_derivatives() -> None:
    names = [name for name in models_by_name() if re.fullmatch(DIFFERENTIATED, name)]
    assert len(names) > 30
    for name in names:
        assert f"deltadyn_{name}_change(" in tangent(name)


# The units.


def scalars(path: Path, *causes: str) -> Iterator[str]:
    """The names of the real variables of a causality or variability, arrays by their scalars."""
    for item in fmpy.read_model_description(str(path)).modelVariables:
        if item.type in ("Real", "Float64") and {item.causality, item.variability} & set(causes):
            shape = getattr(item, "shape", None)
            yield from [f"{item.name}[{i + 1}]" for i in range(shape[0])] if shape else [item.name]


def begun(unit: Unit, dof: int, model: str) -> None:
    """In continuous time, moving under loads."""
    given = {"payload_mass": PAYLOAD} | dict(zip(LOADS[:dof], FORCE[:dof], strict=True))
    if model == "plant":
        given |= axes("q_start", START[0][:dof]) | axes("qd_start", START[1][:dof])
        given |= axes("tau", TORQUES[:dof])
    else:
        for name, values in REFERENCES.items():
            given |= axes(name, values[:dof])
    unit.begin(**given)


def states(unit: Unit, dof: int) -> FloatArray:
    values = (c_double * (2 * dof))()
    unit.fmu.getContinuousStates(values, 2 * dof)
    return np.array(values)


def put_states(unit: Unit, values: FloatArray) -> None:
    unit.fmu.setContinuousStates((c_double * values.size)(*values), values.size)


@needs_compiler
@pytest.mark.parametrize(("dof", "fmi", "model"), CASES)
def test_derivatives_are_those_of_the_unit(dof: int, fmi: str, model: str) -> None:
    path = made(dof, fmi)[model]
    groups = (*MOTION, "tau", "controller_tau") if model == "inverse" else MOTION
    names = [f"{name}[{i + 1}]" for name in groups for i in range(dof)]
    with opened(path, exchange=True) as unit:
        begun(unit, dof, model)

        def set_to(name: str, value: float) -> FloatArray:
            unit.set({name: value})
            return np.array(unit.get(*names))

        checked = 0
        for name in scalars(path, "input", "tunable"):
            at, found = unit.get(name)[0], unit.derivative(names, {name: 1.0})
            h = 1e-4 * max(1.0, abs(at))
            if name == "step" or (name.startswith("friction") and at < h):
                continue  # at its limit it cannot go both ways
            expected = by_differences(lambda d, name=name, at=at: set_to(name, at + d), h)  # type: ignore[misc]
            unit.set({name: at})
            scale = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * scale, err_msg=name)
            checked += 1
        assert checked >= 40
        if model == "inverse":
            return
        here = states(unit, dof)

        def move_to(place: int, d: float) -> FloatArray:
            put_states(unit, here + d * np.eye(2 * dof)[place])
            return np.array(unit.get(*names))

        for place, name in enumerate([*axes("q", here[:dof]), *axes("qd", here[:dof])]):
            put_states(unit, here)
            found = unit.derivative(names, {name: 1.0})
            expected = by_differences(lambda d, place=place: move_to(place, d), 1e-4)  # type: ignore[misc]
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * scale, err_msg=name)


@needs_compiler
@pytest.mark.parametrize(("dof", "fmi"), [(3, "2.0"), (4, "3.0")])
def test_derivatives_are_those_of_the_package(dof: int, fmi: str) -> None:
    own = ROBOTS[dof].payload
    robot = ROBOTS[dof].with_payload(PAYLOAD, own.offset, own.inertia_zz)
    x = np.concatenate([START[0][:dof], START[1][:dof], TORQUES[:dof]])

    def qdd(values: FloatArray) -> FloatArray:
        q, qd, tau = np.split(values, 3)
        return dd.forward_dynamics(robot, q, qd, tau, external_force=FORCE[:dof])

    names = [*axes("q", x[:dof]), *axes("qd", x[:dof]), *axes("tau", x[:dof])]
    with opened(made(dof, fmi)["plant"], exchange=True) as unit:
        begun(unit, dof, "plant")
        for place, name in enumerate(names):
            found = unit.derivative(list(axes("qdd", x[:dof])), {name: 1.0})
            way = np.eye(3 * dof)[place]
            expected = by_differences(lambda d, way=way: qdd(x + d * way), 1e-4)  # type: ignore[misc]
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * scale, err_msg=name)
        # a direction is the sum of its parts
        way = dict(zip(names, np.random.default_rng(3).normal(size=len(names)), strict=True))
        parts = [unit.derivative(["pdd[1]"], {name: value})[0] for name, value in way.items()]
        assert unit.derivative(["pdd[1]"], way)[0] == pytest.approx(sum(parts), rel=1e-10)


@needs_compiler
@pytest.mark.parametrize(("dof", "fmi"), [(3, "2.0"), (4, "3.0")])
def test_exchange_and_cosimulation_move_as_rollout_and_scipy(dof: int, fmi: str) -> None:
    integrate = importlib.import_module("scipy.integrate").solve_ivp
    own = ROBOTS[dof].payload
    robot = ROBOTS[dof].with_payload(PAYLOAD, own.offset, own.inertia_zz)
    t, n = np.linspace(0.0, 0.05, 26), dof
    held = TORQUES[:dof]

    def slope(_: float, y: FloatArray) -> FloatArray:
        return np.concatenate([y[n:], dd.forward_dynamics(robot, y[:n], y[n:], held)])

    start = np.concatenate([START[0][:n], START[1][:n]])
    solved = integrate(slope, (0, t[-1]), start, "DOP853", t, rtol=1e-10, atol=1e-12).y.T
    torque = np.tile(held, (25, 1))
    run = rollout(robot, start[:n], start[n:], torque, dt=float(t[1]), substeps=20)
    rolled = np.concatenate([run.q, run.qd])
    signals = {"time": t} | {
        name: np.full(t.size, value) for name, value in axes("tau", held).items()
    }
    given: Mapping[str, float] = axes("q_start", START[0][:n]) | axes("qd_start", START[1][:n])
    ways: dict[str, dict[str, Any]] = {
        "ModelExchange": {"solver": "CVode", "relative_tolerance": 1e-9},
        "CoSimulation": {},
    }
    for kind, options in ways.items():
        result = simulated(
            made(dof, fmi)["plant"],
            dof,
            signals,
            output=["q", "qd"],
            output_interval=t[1],
            start_values={**given, "payload_mass": PAYLOAD},
            fmi_type=kind,
            **options,
        )
        assert len(result["time"]) == t.size
        found = np.hstack([columns(result, "q", n), columns(result, "qd", n)])
        # CVode at 1e-9 of each step, Runge-Kutta in steps of 0.1 ms: 6e-8 and 2e-8 rad/s
        np.testing.assert_allclose(found, solved, rtol=0, atol=5e-7, err_msg=kind)
        np.testing.assert_allclose(found[-1], rolled, rtol=0, atol=5e-7, err_msg=kind)


@needs_compiler
@pytest.mark.parametrize(("dof", "fmi"), [(3, "2.0"), (4, "3.0")])
def test_a_unit_tells_what_it_is_and_tests_itself(dof: int, fmi: str) -> None:
    points = check_points(ROBOTS[dof])
    for path in made(dof, fmi).values():
        with opened(path) as unit:
            assert unit.status("self_test") == 0  # before all else, and whatever is set
            unit.begin(**{"base.A[1]": 7.0, "gravity": 1.0})
            assert unit.status("self_test") == 0
            said = unit.text("fingerprint")
            assert unit.text("interface_version") == str(INTERFACE_VERSION)
            assert unit.text("written_by").startswith("deltadyn ")
        source = text_in(path, "sources/robot.h")
        token = re.search(r'TOKEN "\{([^}]*)\}"', source)
        assert token is not None
        assert said == token[1].replace("-", "")[:16]
        assert len(re.findall(r"^    \{ -?\d[^{}]* \}", source, re.M)) == len(points)


@needs_compiler
def test_the_self_test_finds_numbers_that_were_spoilt(tmp_path: Path) -> None:
    with zipfile.ZipFile(made(3, "2.0")["inverse"]) as archive:
        archive.extractall(tmp_path)
    header, (library,) = tmp_path / "sources" / "robot.h", tmp_path.glob("binaries/*/*.so")
    text = header.read_text()
    start = text.index("START[")
    at = text.index(" 9.81,", start)  # gravity
    changed = f"{text[:at]} 1.000001 *{text[at:]}"
    sources = {path.name: path.read_text() for path in header.parent.iterdir()}
    command = compiler()
    assert command is not None
    library.write_bytes(compiled([*command, "-O0"], sources | {"robot.h": changed}, "fmi2.c"))
    packed = shutil.make_archive(str(tmp_path.parent / "spoilt"), "zip", tmp_path)
    with opened(Path(packed)) as unit:
        assert unit.status("self_test") == 1  # the first point rests under its weight


@needs_compiler
@pytest.mark.parametrize(("dof", "fmi"), [(3, "2.0"), (4, "3.0")])
def test_wrong_calls_of_exchange_are_refused(dof: int, fmi: str) -> None:
    with opened(made(dof, fmi)["plant"], exchange=True) as unit:
        # before the start the states follow the start values
        start = unit.derivative(["q[2]", "qd[2]", "p[3]"], {"q_start[2]": 1.0})
        assert start[:2] == pytest.approx([1.0, 0.0])
        with pytest.raises(CallError) as error:
            unit.derivative(["q[1]"], {"q[1]": 1.0})
        assert error.value.status == ERROR
        assert unit.told.pop() == "q[1] is no known of a derivative"
        begun(unit, dof, "plant")
        with pytest.raises(CallError):
            unit.derivative(["tau[1]"], {"tau[1]": 1.0})
        assert "is no unknown of a derivative" in unit.told.pop()
        here = states(unit, dof)
        put_states(unit, np.concatenate([[3.0], here[1:]]))
        with pytest.raises(CallError) as error:
            unit.derivative(["qdd[1]"], {"tau[1]": 1.0})
        assert error.value.status == DISCARD
        assert unit.told.pop() == "derivative: out of reach: the struts cannot meet"
        assert unit.status() == 1
        with pytest.raises(CallError) as error:
            put_states(unit, np.full(2 * dof, np.nan))
        assert error.value.status == DISCARD
        assert unit.told.pop() == "a state is not finite; all stay"
        with pytest.raises(CallError):
            put_states(unit, here[:-1])
        assert unit.told.pop() == f"{2 * dof - 1} states; allowed: {2 * dof}"
        put_states(unit, here)
        assert unit.status() == 0
        state, content = unit.snapshot()
        put_states(unit, here + 0.01)
        unit.restore(unit.read(content))
        np.testing.assert_array_equal(states(unit, dof), here)
        with opened(made(dof, fmi)["plant"], "other") as other:
            with pytest.raises(CallError):
                other.restore(state)
            assert other.told == ["this state is of another kind of instance"]
