"""An export is no dead end: a term that a target does not hold is left out, with its size."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exports.c_build import library_for
from tests.family.robots import make

import deltadyn as dd
from deltadyn.exports.export import HELD, TARGETS, kind_key
from deltadyn.exports.left_out import SEED, STATES
from deltadyn.exports.scenes.checks import left_out
from deltadyn.exports.states import random_states
from deltadyn.motion import Motion
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.settings import EstimatorOptions
from deltadyn.robot import Robot
from deltadyn.robot.convention import Angles, to_controller
from deltadyn.robot.settings import Controller, Eccentricity, PassiveFriction, Sensors


def eccentric(robot: Robot, size: float = 4e-3) -> Robot:
    """The robot with encoders that read a wave of `size` rad, other on every axis."""
    n = robot.dof
    wave = Eccentricity(1.0, tuple(size * np.cos(range(n))), tuple(size * np.sin(range(n))))
    return robot.replace(sensors=Sensors(1.0, (wave,)))


BENCH = dd.load_robot("example-delta").with_friction(viscous=0.5, coulomb=1.0, smoothing=0.05)
TURNED = BENCH.replace(controller=Controller((-1.0, 1.0, -1.0), (0.3, -0.2, 1.1)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["delta", "par4"])
def test_a_robot_with_eccentric_encoders_is_exported(
    tmp_path: Path, target: str, kind: str
) -> None:
    """To every target; the term is named in result, README, JSON and the record of exports."""
    robot = eccentric(BENCH if kind == "delta" else make(kind))
    platform, limbs = kind_key(robot)
    if limbs not in HELD[target].get(platform, ()) or (kind, target) == ("par4", "mjcf"):
        return  # slow, and no other than "delta"
    if target == "usd":
        pytest.importorskip("pxr")
    options: dict[str, Any] = {"binary": False} if target == "fmu" else {}
    done = dd.export(robot, target, tmp_path, **options)
    term = next(term for term in done.left_out if term.field == "sensors.eccentricity")
    assert 0 < min(term.rms) <= max(term.rms) < max(term.largest)
    assert str(term) in str(done)
    assert term.as_dict() in done.as_dict()["left_out"]
    record = json.loads((tmp_path / "deltadyn-export.json").read_text())[target]
    assert term.as_dict() in record["left_out"]
    readme = next(path for path in done.files if path.name.startswith("README"))
    assert "sensors.eccentricity" in readme.read_text()
    assert term.size in readme.read_text()
    if target == "mjcf":
        pytest.importorskip("mujoco")
        figures = r"friction that the model holds, over 100 states: median (\S+) %, largest (\S+) %"
        found = re.search(figures, " ".join(readme.read_text().split()))
        assert found is not None
        assert 0 < float(found[1]) < float(found[2]) < 1.0


def test_the_size_is_what_the_exported_code_lacks() -> None:
    """Compiled C, fed with what the encoders read, beside the model at the true angles."""
    robot = eccentric(TURNED)
    files = import_module("deltadyn.exports.c").files(robot)
    (term,) = files.left_out
    q, qd, qdd = random_states(robot, STATES, SEED)
    motion = Motion.from_joints(robot, np.arange(float(STATES)), q, qd, qdd)
    true = dd.inverse_dynamics(robot, motion)
    read = to_controller(robot, Angles(q, qd, qdd))
    status, tau, *_ = library_for(robot, rate=500.0, estimator="least-squares").call(
        "feedforward_joints", *read
    )
    assert not status.any()
    lack = true - tau * np.array(robot.controller.sign)
    np.testing.assert_allclose(np.sqrt((lack**2).mean(axis=0)), term.rms, rtol=1e-9)
    np.testing.assert_allclose(np.abs(lack).max(axis=0), term.largest, rtol=1e-9)


def test_an_estimator_of_the_robot_with_its_encoders_may_be_given() -> None:
    """The one that was made with the log: its robot has the term that the code leaves out."""
    robot = eccentric(TURNED)
    estimator = PayloadEstimator(robot, EstimatorOptions(rate=500.0, estimator="least-squares"))
    library = library_for(robot, estimator=estimator)
    assert library.payload_self_test()[0] == 0
    texts = import_module("deltadyn.exports.structured_text").files(
        robot, import_module("deltadyn.exports.structured_text").Options(estimator=estimator)
    )
    assert [term.field for term in texts.left_out] == ["sensors.eccentricity"]


def test_friction_of_passive_joints_is_left_out_of_code_for_four_limbs(tmp_path: Path) -> None:
    robot = make("par4").with_friction(passive=(PassiveFriction("elbow_swing", 0.1, 0.2),))
    for target in ("c", "structured-text"):
        (term,) = dd.export(robot, target, tmp_path / target).left_out
        assert term.field == "friction.passive"
        assert 1e-3 < max(term.rms) < 1.0


def test_simulators_say_the_size_of_every_term() -> None:
    """Each is what the torque changes by when it is taken away behind those before it."""
    robot = eccentric(TURNED).with_friction(
        stribeck=0.4, stribeck_velocity=0.2, offset=0.3, coulomb_negative=1.2, load=0.03
    )
    terms = {term.field.split(".")[-1]: term for term in left_out(robot)}
    assert set(terms) >= {"eccentricity", "stribeck", "offset", "load", "smoothing"}
    np.testing.assert_allclose(terms["offset"].rms, 0.3, rtol=1e-9)
    np.testing.assert_allclose(terms["offset"].largest, 0.3, rtol=1e-9)
    assert all(0.0 < most <= 0.4 for most in terms["stribeck"].largest)
    assert left_out(BENCH.with_friction(smoothing=None)) == ()
