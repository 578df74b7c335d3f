"""The files of target `c`: what is in them, what they say, and what is refused."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from tests.exports.c_build import (
    COMPILERS,
    PRECISIONS,
    ROBOTS,
    STRICT,
    library,
    library_of,
    need,
    run,
    sources,
)

import deltadyn as dd
from deltadyn.backends.kernel_models.headers import headers
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.exports.c import KERNELS, Options, files, kernels, state_bytes
from deltadyn.exports.c import PRECISIONS as KINDS
from deltadyn.exports.common import middle, payload_numbers
from deltadyn.payload.least_squares import LeastSquaresEstimator

GUARD = re.compile(r"    if \(!\(v\d+ >= \(real\)0\.0\)\) \{\n        return 1;.*\n    \}\n")


def test_names_of_the_files_and_where_they_come_from(tmp_path: Path) -> None:
    robot = ROBOTS["plain"]
    done = dd.export(robot, "c", tmp_path, precision="float")
    names = ["README-c.md", "CMakeLists.txt", "example.c", "self_test.c"]
    names += ["sipro_d3_1200_delta.c", "sipro_d3_1200_delta.h"]
    assert [path.name for path in done.files] == names
    for path in done.files:
        text = path.read_text()
        assert done.fingerprint in text
        assert "units: m, rad, s, kg, N, N m" in text
        assert "@" not in text
    assert "typedef float sipro_d3_1200_real;" in (tmp_path / names[-1]).read_text()


def test_the_straight_line_functions_are_the_compiled_kernels() -> None:
    compiled = "\n".join(headers().values()).replace(" * stride]", "]")
    for dof in (3, 4):
        text = kernels(dof)
        found = text.split("\n\n")
        assert len(found) == len(KERNELS)
        for function in found:  # the same statements, but for the test before a root
            roots = function.count("= REAL_SQRT(")
            begin, bare = function.index("{\n"), GUARD.sub("", function)
            closes = bare.endswith("    return 0;\n}")
            assert function.count("return 1;") == (roots if closes else 0)
            assert bare[begin:].replace("    return 0;\n", "") in compiled
        assert sum("return 1;" in function for function in found) == 4
        name = f"rubbing-{dof}"
        assert text in library_of(sources(name, "double")).read_text()


@pytest.mark.full
@pytest.mark.parametrize("name", ["plain", "full-4"])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_example_prints_pythons_torque_and_weighs_its_load(
    compiler: str, precision: str, name: str
) -> None:
    folder, robot = sources(name, precision), ROBOTS[name]
    out = f"example-{compiler}"
    command = [need(compiler), *STRICT, "-O2", "example.c", library_of(folder).name, "-lm"]
    run([*command, "-o", out], folder)
    said = run([f"./{out}"], folder).splitlines()
    w, t = 4 * np.pi, 0.05
    along = np.eye(robot.dof)[0] * 0.05
    state = dd.State.from_platform(
        robot,
        np.array(middle(robot)) + along * np.sin(w * t),
        along * w * np.cos(w * t),
        -along * w**2 * np.sin(w * t),
    )
    tau = np.asarray(robot.controller.sign) * dd.inverse_dynamics(robot, state)
    # six decimals are printed; single precision is good to 1e-6 of the largest
    places = 6e-7 if precision == "double" else 1e-5
    found = [float(word) for word in said[0].split()[4:]]
    np.testing.assert_allclose(found, tau, atol=places)
    words = said[-1].split()
    mass, std = float(words[1]), float(words[4])
    assert abs(mass - 1.5) < 3 * std < 0.6
    # the gripper's signal at 0.5 s is evidence: the torque has to show the load, too
    (pick,) = [line for line in said if line.endswith(": pick")]
    assert 0.5 <= float(pick.split()[2]) < 0.7


def test_the_readme_names_sign_offset_rate_and_size() -> None:
    text = files(ROBOTS["full-4"], Options(rate=1000.0))["README-c.md"]
    assert "| 1 | -q + 0.3 rad | -tau |" in text
    assert "| 2 | q - 0.2 rad | tau |" in text
    assert "1000 times a second" in text
    assert "p[3] is psi" in text
    assert "single precision" not in text
    assert "single precision" in files(ROBOTS["full-4"], Options(precision="float"))["README-c.md"]


@pytest.mark.full
@pytest.mark.parametrize("name", ["full-3", "full-4"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_size_of_the_state_is_what_the_compiler_says(name: str, precision: str) -> None:
    numbers = payload_numbers(ROBOTS[name])
    code = library(name, precision, "gcc", "least-squares")
    padding = len(code.state) - state_bytes(numbers, KINDS[precision])
    assert 0 <= padding <= 24


def test_the_same_robot_gives_the_same_files() -> None:
    assert files(ROBOTS["full-3"]) == files(ROBOTS["full-3"])


def test_wrong_options_are_refused() -> None:
    robot = ROBOTS["plain"]
    with pytest.raises(UnknownNameError, match="precision"):
        files(robot, Options(precision="half"))
    with pytest.raises(InputError, match="rate is 100; allowed: at least 250 Hz"):
        files(robot, Options(rate=100.0))
    with pytest.raises(InputError, match="estimator is 'int'; allowed: a PayloadEstimator"):
        files(robot, Options(estimator=3))  # type: ignore[arg-type]
    other = LeastSquaresEstimator(ROBOTS["bench"])
    with pytest.raises(InputError, match=r"robot of the estimator .* one of the robot that is"):
        files(robot, Options(estimator=other))
    momentum = LeastSquaresEstimator(robot, form="momentum")
    with pytest.raises(InputError, match="form of the estimator is 'momentum'"):
        files(robot, Options(estimator=momentum))


def test_an_inertia_without_a_mass_is_refused() -> None:
    robot = ROBOTS["full-4"].with_payload(0.0, (0.0, 0.0, 0.0), 0.01)
    with pytest.raises(InputError, match=r"payload.inertia_zz is 0.01; allowed: 0 for a payload"):
        files(robot)


def test_numbers_of_an_estimator_reach_the_file() -> None:
    robot = ROBOTS["bench"]
    estimator = LeastSquaresEstimator(robot, rate=4000.0, rest_speed=0.25, false_alarms=10.0)
    numbers = payload_numbers(robot, estimator)
    text = files(robot, Options(estimator=estimator))["sipro_d3_1200_delta.c"]
    assert "static const real RATE = 4000.0;" in text
    assert "static const real REST_SPEED = 0.25;" in text
    assert f"static const real LIMIT = {numbers.limit!r};" in text
    assert numbers.limit < payload_numbers(robot).limit


def test_the_page_shows_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text("utf-8")
    frame, _, own = page.partition("\n## c\n")
    shown = re.findall(r"```python\n(.*?)```", frame + own.partition("\n## ")[0], re.DOTALL)
    assert len(shown) == 2
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec("\n".join(shown), {})
    assert f"```\n{said.getvalue()}```" in frame
    text = (tmp_path / "weigher" / "sipro_d3_1200_delta.h").read_text()
    assert "SIPRO_D3_1200_RATE 4000.0" in text
