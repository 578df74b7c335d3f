"""Exported Structured Text compiled by iec2c (matiec), its C by gcc, and run.

iec2c is not packaged for Debian: the tests run where it is on the PATH with its library beside it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.deploy.programs import program
from tests.dynamics.factory import make_states
from tests.exports.st_cases import controller_angles, own_robot
from tests.family.robots import make, waves

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.exports.structured_text import Options, files
from deltadyn.kinematics import State
from deltadyn.robot import Robot

ROBOTS = ("3-dof", "4-dof", "sipro-d3-1200", "vertical", "planar", "par4")
COUNT, MASS = 500, 2.5
CLOSE = 1e-12  # of the largest torque: a few hundred roundings
#: What iec2c wants around blocks: a program that runs in a task.
AROUND = """
PROGRAM Main
VAR Test : FB_Own_SelfTest; END_VAR
Test(Run := TRUE);
END_PROGRAM
CONFIGURATION Config
    RESOURCE Res ON PLC
        TASK Cycle(INTERVAL := T#1ms, PRIORITY := 0);
        PROGRAM Inst WITH Cycle : Main;
    END_RESOURCE
END_CONFIGURATION
"""
HEAD = """\
#include <stdio.h>
#include "iec_std_lib.h"
#include "accessor.h"
#include "POUS.h"
TIME __CURRENT_TIME;
BOOL __DEBUG;
#include "POUS.c"
"""


def robot_of(name: str) -> Robot:
    if name.endswith("-dof"):
        return own_robot(int(name[0]))
    return dd.load_robot(name) if "-" in name else make(name)


def states_of(robot: Robot) -> State:
    if robot.legs == 3 and not robot.linear:
        return make_states(robot, COUNT)
    motion = waves(robot, (COUNT - 1) / 1000.0)
    return State.from_platform(robot, motion.p, motion.pd, motion.pdd)


def library(compiler: str) -> Path:
    """The folder of iec2c's own library, which it reads and its C includes."""
    own = Path(compiler).resolve().parent
    for folder in (own / "lib", own.parent / "share/matiec/lib", own.parent / "lib/matiec"):
        if (folder / "C" / "iec_std_lib.h").is_file():
            return folder
    pytest.skip(f"the library of iec2c is not beside {compiler}")


def self_test(name: str, calls: int) -> str:
    """C that runs a self-test and prints whether it passed, and the largest difference."""
    return f"""
    {{
        static {name} test;
        {name}_init__(&test, 0);
        __SET_VAR(test., RUN,, 1);
        for (int k = 0; k < {calls} && !__GET_VAR(test.DONE,); k++) {name}_body__(&test);
        printf("%d %d %.17g\\n", (int)__GET_VAR(test.DONE,), (int)__GET_VAR(test.PASSED,),
               (double)__GET_VAR(test.ERROR,));
    }}"""


def torques(name: str, inputs: list[str], rows: int, dof: int) -> str:
    """C that reads so many rows of inputs and prints the torques of a block."""
    taken = "\n".join(
        f'            if (scanf("%lf", &x) != 1) return 1;\n            __SET_VAR(b., {n},, x);'
        for n in inputs
    )
    given = "\n".join(
        f'            printf("%.17g ", (double)__GET_VAR(b.TAU{k},));' for k in range(1, dof + 1)
    )
    return f"""
    {{
        static {name} b;
        double x;
        {name}_init__(&b, 0);
        for (int k = 0; k < {rows}; k++) {{
{taken}
            {name}_body__(&b);
            if (__GET_VAR(b.STATUS,) != 0) return 2;
{given}
            printf("\\n");
        }}
    }}"""


def compiled(folder: Path, robot: Robot, body: str) -> Path:
    """The export through iec2c and gcc, with a main of our own."""
    iec2c, gcc = program("iec2c"), program("gcc")
    lib = library(iec2c)
    text = files(robot, Options(name="Own", rate=500.0))["Own.st"]
    (folder / "own.st").write_text(text + AROUND)
    made = subprocess.run(
        [iec2c, "-I", lib, "-T", folder, folder / "own.st"], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    assert "error" not in made.stderr
    (folder / "run.c").write_text(f"{HEAD}int main(void) {{{body}\n    return 0;\n}}\n")
    flags = ["-O1", "-w", "-ffp-contract=off", "-I", str(lib / "C"), "-I", str(folder)]
    subprocess.run(
        [gcc, *flags, folder / "run.c", "-o", folder / "run", "-lm"], check=True, text=True
    )
    return folder / "run"


def rows_of(robot: Robot, state: State, joints: bool) -> FloatArray:
    """Inputs of a feedforward, a row per state: motion, payload, inertia where it is asked for."""
    sign = np.asarray(robot.controller.sign)
    if joints:
        motion = (controller_angles(robot, state.q), sign * state.qd, sign * state.qdd)
    else:
        motion = (state.p, state.pd, state.pdd)
    load = np.tile([MASS, 0.0][: 1 + robot.turns], (len(state.p), 1))
    return np.hstack([*motion, load])


@pytest.mark.parametrize("name", ROBOTS)
def test_compiled_blocks_agree_with_python(name: str, tmp_path: Path) -> None:
    """Self-tests pass, and the torques of 500 states are Python's."""
    robot = robot_of(name)
    state, dof = states_of(robot), robot.dof
    letters = [n.upper() for n in robot.coordinates]
    load = ["PAYLOADMASS", "PAYLOADINERTIA"][: 1 + robot.turns]
    point = [f"{kind}{n}" for kind in ("", "V", "A") for n in letters] + load
    turns = [f"{kind}{k}" for kind in ("Q", "QD", "QDD") for k in range(1, dof + 1)] + load
    body = self_test("FB_OWN_SELFTEST", 10)
    body += self_test("FB_OWN_PAYLOADSELFTEST", 100_000) if robot.legs == 3 else ""
    body += torques("FB_OWN_FEEDFORWARD", point, COUNT, dof)
    body += torques("FB_OWN_FEEDFORWARDJOINTS", turns, COUNT, dof)
    run = compiled(tmp_path, robot, body)
    given = np.vstack([rows_of(robot, state, False).ravel(), rows_of(robot, state, True).ravel()])
    said = subprocess.run(
        [run],
        input="\n".join(repr(float(x)) for x in given.ravel()),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    tests = 2 if robot.legs == 3 else 1
    for line in said[:tests]:
        assert line.split()[:2] == ["1", "1"]
    found = np.array([line.split() for line in said[tests:]], float).reshape(2, COUNT, dof)
    heavy = robot.with_payload(MASS, robot.payload.offset)
    tau = np.asarray(robot.controller.sign) * dd.inverse_dynamics(heavy, state)
    worst = float(np.abs(found - tau).max())
    print(f"iec2c, {name}: largest error {worst:.2g} of {np.abs(tau).max():.4g}")
    assert worst <= CLOSE * np.abs(tau).max()
