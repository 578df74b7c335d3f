"""The self-test of the payload estimator as a function block, a sample per call."""

from __future__ import annotations

from string import Template

from deltadyn.exports.common import speech, template
from deltadyn.exports.payload_test import PayloadTest
from deltadyn.exports.structured_text.blocks import FunctionBlock, Variable, load_variables
from deltadyn.exports.structured_text.code import literal
from deltadyn.exports.structured_text.payload import array, expanded, in_units
from deltadyn.robot import Robot

AGREEMENT = 1e-6  # kg: LREAL has 64 bits
TORQUE = 1e-8  # of the largest torque
OUTPUTS = (
    Variable("Done", "BOOL", "the test has ended"),
    Variable("Passed", "BOOL", "it ended, and all check points agree"),
    Variable("Failed", "DINT", "first check point that does not agree, 0: none"),
    Variable("Error", "LREAL", "largest difference from what was expected, in kg"),
    Variable("Sample", "DINT", "samples taken so far"),
)


def payload_test_block(robot: Robot, test: PayloadTest, rate: float, work: int) -> FunctionBlock:
    """The block; `work` are the operations of feedforward and estimator."""
    n, ways, checks = robot.dof, len(test.begins), len(test.checks)
    words = speech(robot)
    text = template("structured_text", "payload_test.st")
    seen = [f"Seen[{k}] := Torque.Tau{k + 1};" for k in range(n)]
    lists = {"tables": "\n".join(_tables(test)), "seen": "\n".join(seen)}
    text = expanded(text, lists, "$")
    motion = [
        ", ".join(f"{name}{k + 1} := {name}[{k}]" for k in range(n)) for name in ("Q", "QD", "QDD")
    ]
    loads = [v.name for v in load_variables(robot)]
    carried = {"PayloadMass": "Mass", "PayloadInertia": f"Mass * {literal(_inertia(robot))}"}
    motion.append(", ".join(f"{name} := {carried[name]}" for name in loads))
    angles = ", ".join(f"Q{k + 1} := Q[{k}]" for k in range(n))
    torques = ", ".join(f"Tau{k + 1} := Torque.Tau{k + 1}" for k in range(n))
    values = {
        "dof": n,
        "last_axis": n - 1,
        "last_way": ways - 1,
        "first": literal(float(-test.begins[0])),
        "length": literal(float(test.length)),
        "pace": literal(rate / test.length),
        "pick": test.pick,
        "release": test.release,
        "mass": literal(test.mass),
        "checks": checks,
        "samples": test.samples,
        "tolerance": literal(AGREEMENT),
        "torque_tolerance": literal(TORQUE * test.scale),
        "motion": ",\n       ".join(motion),
        "arguments": f"{angles},\n        {torques},\n"
        "        UseGripper := FALSE, Holding := FALSE, Reset := Anew",
    }
    groups = (
        ("Torque", "FeedforwardJoints", f"makes the {words['torques']}"),
        ("Payload", "PayloadEstimator", "what is tested"),
        ("Begin0 Swing", array(n), "of the motion, in {q}"),
        ("Q", array(n), "in {q}"),
        ("QD", array(n), "in {qd}"),
        ("QDD", array(n), "in {qdd}"),
        ("Seen", array(n), "in {tau}"),
        ("Wanted", array(n * checks), f"{words['torques']} at the check points, in {{tau}}"),
        ("Masses Stds", array(checks), "at the check points, in kg"),
        ("Begins", array(ways, "DINT"), "samples at which the moves begin"),
        ("Points Counts", array(checks, "DINT"), "of the check points"),
        ("LoadedFlags", array(checks, "BOOL"), "of the check points"),
        ("Since Share Rest S0 S1 S2 Mass Worst Off", "LREAL", "temporaries"),
        ("Way Checked i", "DINT", "counters"),
        ("Anew Good", "BOOL", "temporaries"),
    )
    rows = ((name, kind, what) for names, kind, what in groups for name in names.split())
    return FunctionBlock(
        "PayloadSelfTest",
        f"Self-test of the payload estimator on this controller, {test.samples} calls",
        (Variable("Run", "BOOL", "TRUE: a sample per call until Done; FALSE: begin anew"),),
        OUTPUTS,
        tuple(Variable(name, kind, in_units(robot, text)) for name, kind, text in rows),
        tuple(Template(text).substitute(values).rstrip().splitlines()),
        work + 60,
    )


def _inertia(robot: Robot) -> float:
    """What a kg of the payload has about its own axis, in m^2."""
    own = robot.payload
    return own.inertia_zz / own.mass if own.mass > 0 else 0.0


def _tables(test: PayloadTest) -> list[str]:
    real = {
        "Begin0": test.begin.tolist(),
        "Swing": test.swing.tolist(),
        "Wanted": [float(x) for check in test.checks for x in check.torque],
        "Masses": [float(check.mass) for check in test.checks],
        "Stds": [float(check.std) for check in test.checks],
    }
    whole = {
        "Begins": test.begins,
        "Points": [check.sample for check in test.checks],
        "Counts": [check.picks for check in test.checks],
    }
    lines = [f"{n}[{k}] := {literal(x)};" for n, row in real.items() for k, x in enumerate(row)]
    lines += [f"{n}[{k}] := {x};" for n, row in whole.items() for k, x in enumerate(row)]
    checks = enumerate(test.checks)
    return [*lines, *(f"LoadedFlags[{k}] := {'TRUE' if c.loaded else 'FALSE'};" for k, c in checks)]
