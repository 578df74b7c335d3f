"""The payload estimator by the bank of hypotheses as a function block.

The body is the text `bank_estimator.st` with numbers in it; it follows `payload/rows.py`,
`payload/bank.py` and `payload/bank_estimator.py` step by step.
"""

from __future__ import annotations

from string import Template

from deltadyn.exports.bank import BankExport
from deltadyn.exports.common import speech, template
from deltadyn.exports.structured_text.blocks import FunctionBlock, Variable
from deltadyn.exports.structured_text.code import literal
from deltadyn.exports.structured_text.payload import (
    MODEL,
    OUTPUTS,
    UNKNOWN,
    array,
    door_lines,
    expanded,
    in_channels,
    in_units,
    model_block,
    payload_inputs,
    payload_purpose,
    sample_lines,
)
from deltadyn.payload.rows import lossless
from deltadyn.robot import Robot

PIECES = [
    "restart",
    "forget",
    "take_up",
    "let_go",
    "child",
    "keep",
    "heaviest",
    "std",
    "file",
    "close",
    "results",
    "tanh",
    "edge_bin",
    "edge_gain",
    "edge_learn",
]
NEVER = "1.0E30"
LREALS = ("still", "events", "edge_first")  # whole numbers that the text takes otherwise
MORE = (
    Variable("PickAnew", "BOOL", "the last pick is told anew, as later samples see it"),
    Variable("PickLong", "BOOL", "the last pick was implausibly long"),
)


def bank_blocks(robot: Robot, bank: BankExport) -> list[FunctionBlock]:
    """The model of one sample without losses, and the estimator that calls it."""
    model = model_block(lossless(robot))
    return [model, _estimator(robot, bank, model)]


def _estimator(robot: Robot, bank: BankExport, model: FunctionBlock) -> FunctionBlock:
    pieces = {name: template("structured_text", f"bank_{name}.st") for name in PIECES}
    text = expanded(template("structured_text", "bank_estimator.st"), pieces, "@")
    lists = {name: "\n".join(own) for name, own in _lists(robot, bank).items()}
    text = expanded(text, lists, "$")
    lines = Template(text).substitute(_values(robot, bank)).rstrip().splitlines()
    n = robot.dof
    window = 8 * n * bank.rows.length + 32 * bank.models
    delays = bank.bank.signal.delays
    edge = (3 * delays + 30) * bank.size + 10 * delays  # of the gripper's signal
    work = model.operations + window + 190 * bank.size + 8 * bank.size * 8 + edge
    return FunctionBlock(
        "PayloadEstimator",
        payload_purpose(robot, bank.rows.rate),
        payload_inputs(robot),
        (*OUTPUTS, *MORE),
        _inner(robot, bank),
        tuple(lines),
        work,
    )


def _lists(robot: Robot, bank: BankExport) -> dict[str, list[str]]:
    dof, arms = robot.dof, bank.arms
    kernel = bank.kernel.T.tolist()
    tables = {
        "Phi": arms["phi"],
        "NoiseA": arms["variance"],
        "NoiseB": arms["reversal"],
        "Unlinked": arms["unlinked"],
        "Theta0": arms["theta"],
        "Spread0": arms["theta_variance"],
        "Walk": arms["walk"],
        "Shares": bank.bank.share,
        "Narrow": bank.rows.narrow.tolist(),
        "KernelQ": kernel[0],
        "KernelV": kernel[1],
        "KernelA": kernel[2],
        "KernelT": kernel[3],
        "Ratio": bank.rows.ratio[:3],
        "GearLoss": bank.rows.load[:3],
        "MotorLoss": bank.rows.motor_load[:3],
    }
    answers = [f"Needed[{k}] := Model.Torque{k + 1};" for k in range(3)]
    answers += [f"Column[{k}] := Model.Column{k + 1};" for k in range(3)]
    answers += [f"Through[{k}] := Model.Through{k + 1};" for k in range(3)]
    return {
        "tables": [
            f"{name}[{k}] := {literal(x)};"
            for name, values in tables.items()
            for k, x in enumerate(values)
        ],
        "door": door_lines(dof),
        "samples": sample_lines(robot),
        "answers": answers,
    }


def _values(robot: Robot, bank: BankExport) -> dict[str, str]:
    dof, real, n = robot.dof, dict(bank.real), bank.rows
    real |= {
        "sample_time": 1 / n.rate,
        "change": n.change,
        "interval": n.interval,
        "spread2": bank.bank.spread**2,
        "not_known2": (real["not_known"] * bank.bank.spread) ** 2,
        "zero2": bank.bank.zero**2,
        "gain2": bank.bank.gain**2,
        "still": float(bank.bank.still),
        "near_rest_r": float(bank.bank.near_rest),
        "lag_r": float(bank.bank.lag),
        "edge_first": float(bank.bank.signal.first),
        "edge_delays_r": bank.bank.signal.delays - 0.5,
        "edge_prior": 1.0 / bank.bank.signal.delays,
    }
    whole = {name: value for name, value in bank.whole.items() if name not in LREALS}
    whole |= {
        "keep_most": bank.bank.keep,
        "dof": dof,
        "two_dof": 2 * dof,
        "last_axis": dof - 1,
        "last_channel": 2 * dof - 1,
        "last_slot": bank.size - 1,
        "last_delay": bank.bank.signal.delays - 1,
        "last_edge": 2 * bank.bank.signal.delays - 1,
        "last_sample": n.length - 1,
        "last_model": bank.models - 1,
    }
    groups = (("Q", "Middle[{}]"), ("QD", "Rate[{}]"), ("QDD", "Bend[{}]"), ("S", "Side[{}]"))
    arguments = [
        ", ".join(f"{name}{k + 1} := {value.format(k)}" for k in range(dof))
        for name, value in groups
    ]
    return {
        "events": "TRUE" if bank.events else "FALSE",
        "unknown": UNKNOWN,
        "never": f"(-{NEVER})",
        "arguments": ",\n          ".join(arguments),
        **{name: str(value) for name, value in whole.items()},
        **{name: literal(value) for name, value in real.items()},
    }


def _inner(robot: Robot, bank: BankExport) -> tuple[Variable, ...]:
    """The estimator's memory."""
    n, size, length, models = bank.dof, bank.size, bank.rows.length, bank.models
    words = speech(robot)
    groups = (
        ("Model", MODEL, f"the robot's {words['torque']}"),
        ("Phi NoiseA NoiseB Unlinked Ratio GearLoss MotorLoss", array(3), "of each arm"),
        ("Theta0 Spread0 Walk", array(9), "of what friction has changed by"),
        ("Shares", array(len(bank.bank.share)), "of a load in the rows after a change"),
        ("Narrow", array(models), "second window"),
        ("KernelQ KernelV KernelA KernelT", array(length), "first window"),
        ("X", array(2 * n), in_channels(robot)),
        ("Last", array(3), words["last"] + " in {q}"),
        ("Window", array(2 * n * length), "the last samples"),
        ("Ring", array(16 * models), "the last models"),
        ("Row RowLast", array(16), "rows of the bank"),
        ("Middle Rate Bend Torque Side", array(n), "at the middle of the window"),
        ("Needed Column Through", array(3), "in {tau}, in {tau}/kg"),
        ("Theta U", array(9 * size), "of each hypothesis"),
        ("Load Variance Weight Share DoneLoad DoneVar", array(size), "of each hypothesis"),
        ("Age Begun Ended", array(size), "of each hypothesis, in rows"),
        ("Old Count", array(size, "DINT"), "of each hypothesis"),
        ("Carries Done InMotion Stay", array(size, "BOOL"), "of each hypothesis"),
        ("BeginEdge DoneEdge EndEdge", array(size, "DINT"), "of each hypothesis: delays of edges"),
        ("Order Gone", array(size, "DINT"), "places of the hypotheses"),
        ("Held", array(6, "DINT"), "hypotheses that may release"),
        ("P", array(18), "covariance of what friction has changed by"),
        ("Z Gain", array(9), "regressors and gains"),
        ("RowR RowC S Pz", array(3), "of a row"),
        ("Used", array(3, "BOOL"), "arms that tell something"),
        ("Tops Sums", array(4), "of groups of hypotheses"),
        ("Leaders", array(4, "DINT"), "of groups of hypotheses"),
        ("Group", array(4, "BOOL"), "of groups of hypotheses"),
        ("BankMass FiledMass", "LREAL", "in kg"),
        ("EdgeCount", array(2 * bank.bank.signal.delays), "picks by the delay of their edges"),
        ("EdgePicks Stray EdgeAge", array(2), "of closing and opening edges"),
        ("EdgeRows", "LREAL", "rows in which edges were counted"),
        ("Peak", "LREAL", "highest speed of late, in m/s"),
        ("BankVar FiledVar", "LREAL", "in kg^2"),
        ("BankBegun BankEnded FiledBegun FiledEnded Dead", "LREAL", "in rows"),
        ("Clock EndTime EndLast Began Start Detected", "LREAL", "in s"),
        ("LogPick LogNone LogRelease LogStays", "LREAL", "chances of changes"),
        ("Turn Rest Most Noise Rough SumJ SumB Fit Volume Far", "LREAL", "temporaries"),
        ("Error Slope Kept Size", "LREAL", "temporaries"),
        ("i j k h Best Guard Found Before Parent How BankEvent", "DINT", "temporaries"),
        ("Place Samples Phase ModelPlace Models ModelPhase Jumped", "DINT", "counters"),
        ("Alive Skip Moving OpenPicks Level Edge Slot", "DINT", "counters"),
        ("Started WithEvents HasTime HasLast HasStart HasEnd Unsettled Holds", "BOOL", "state"),
        ("Jump NewRow Live AtRest Waits Going Moved Filed Seen", "BOOL", "temporaries"),
    )
    rows = ((name, kind, text) for names, kind, text in groups for name in names.split())
    return tuple(Variable(name, kind, in_units(robot, text)) for name, kind, text in rows)
