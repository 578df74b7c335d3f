"""One machine, identified in several ways, and what each way is worth."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import import_module
from typing import Any
from unittest.mock import patch

from tests.machines import Machine, make_machine

import deltadyn as dd
from benchmarks.machines.held_out import judge, noise_level
from deltadyn.identification import Fit
from deltadyn.identification.loading import Loaded
from deltadyn.identification.options import FitOptions
from deltadyn.identification.terms.found import NAMES
from deltadyn.identification.terms.look import Looked, look

MOTIONS, SECONDS = 4, 4.0
LEVEL = 0.95  # of intervals

#: Ways to identify a machine, as keywords of `identify`; "oracle" knows the machine's terms.
WAYS: dict[str, dict[str, Any]] = {
    "auto": {},
    "file": {"terms": "file"},
    "limbs": {"terms": "file", "tied": "auto"},
    "oracle": {},
    "base": {"method": "base"},
    "l1": {"method": "l1"},
    "robust": {"method": "robust"},
    "gray-box": {"method": "gray-box", "check": False},  # it takes model errors for payloads
    "log-cholesky": {"method": "log-cholesky"},
    "rls": {"method": "rls"},
    "damped": {"method": "damped"},
    "svd": {"method": "svd"},
    "swarm": {"method": "swarm"},
}


@dataclass(frozen=True)
class Asked:
    """Which machine, and how it is identified.

    A `strength` of None is drawn, 0.5 to 1.5. Terms `without` are kept out of the search, "cause"
    those that the machine has.
    """

    cause: str
    seed: int
    robot: str = "sipro-d3-1200"
    strength: float | None = None
    ways: tuple[str, ...] = ("auto", "file", "oracle")
    without: tuple[str, ...] = ()


@dataclass
class Trial:
    """What one way made of one machine.

    `error` and `half` are in percent of the RMS torque, `inside` in percent of the rows. `covered`
    and `width` are the intervals of parameters by name: whether they hold the truth, and how long
    they are. Seconds are those of the processor; of a machine, with its logs and all its fits, they
    stand at the first way. `broken` is the message of a fit that failed.
    """

    cause: str
    seed: int
    robot: str
    strength: float
    way: str
    without: list[str]
    true: list[str]
    noise: float
    found: list[str] = field(default_factory=list)
    probability: float | None = None
    missing: bool | None = None
    unexplained: float | None = None
    error: float | None = None
    inside: float | None = None
    half: float | None = None
    covered: dict[str, bool] = field(default_factory=dict)
    width: dict[str, float] = field(default_factory=dict)
    off: dict[str, float] = field(default_factory=dict)
    seconds: float | None = None
    search_seconds: float | None = None
    machine_seconds: float | None = None
    broken: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @property
    def name(self) -> str:
        """The machine in a word, for messages."""
        return f"{self.cause} {self.seed} {self.way}"

    @property
    def nameable(self) -> bool:
        """Whether the library has a name for every term of the machine."""
        return all(has_name(term) for term in self.true)

    @property
    def named(self) -> bool:
        """Whether every term of the machine was found."""
        return set(self.true) <= set(self.found)

    @property
    def exact(self) -> bool:
        """Whether the terms of the machine were found and no other."""
        return set(self.true) == set(self.found)

    @property
    def false(self) -> int:
        """How many terms were found that the machine does not have."""
        return len(set(self.found) - set(self.true))


def measure(asked: Asked) -> list[Trial]:
    """A machine's logs, identified in the ways that were asked for."""
    start = time.process_time()
    robot = _robot(asked.robot)
    machine = make_machine(robot, asked.cause, asked.strength, asked.seed)
    logs = machine.record(MOTIONS, SECONDS)
    held_out = machine.run_picks(SECONDS)
    quiet = held_out.truth.reported + machine.offset
    noise = noise_level(held_out.recording, quiet, held_out.truth.qd)
    refused = set(asked.without)
    if "cause" in refused:
        refused = {term.rstrip("0123456789") for term in machine.causes}
    found = []
    for way in asked.ways:
        trial = Trial(
            asked.cause,
            asked.seed,
            asked.robot,
            machine.strength,
            way,
            sorted(refused),
            sorted(machine.causes),
            noise,
        )
        _fill(trial, machine, logs, held_out.recording, refused if way != "oracle" else ())
        found.append(trial)
    found[0].machine_seconds = time.process_time() - start
    return found


def _fill(
    trial: Trial,
    machine: Machine,
    logs: Sequence[dd.Recording],
    held_out: dd.Recording,
    refused: Collection[str],
) -> None:
    keywords = dict(WAYS[trial.way])
    if trial.way == "oracle":
        keywords["terms"] = nameable(machine)
    try:
        with timed_search(refused) as search:
            start = time.process_time()
            fit = dd.identify(machine.robot, list(logs), **keywords)
            trial.seconds = time.process_time() - start
    except Exception as error:  # whatever breaks a fit is a result
        trial.broken = f"{type(error).__name__}: {error}"
        return
    trial.search_seconds = search.get("seconds", 0.0)
    if fit.terms is not None:
        trial.found = sorted(fit.terms.titles)
        trial.probability = fit.terms.probability
        trial.missing = fit.terms.missing
        trial.unexplained = max(fit.terms.unexplained)
    trial.error, trial.inside, trial.half = judge(fit, held_out)
    ends = fit.interval(LEVEL)
    for name, true in truth_of(machine, fit).items():
        low, high = ends[fit.names.index(name)]
        trial.covered[name] = bool(low <= true <= high)
        trial.width[name] = float(high - low)
        trial.off[name] = fit[name] / true - 1


def nameable(machine: Machine) -> tuple[str, ...]:
    """The terms of the machine that the library has a name for."""
    return tuple(sorted(filter(has_name, machine.causes)))


def has_name(term: str) -> bool:
    """Whether the library has a name for a term, such as "ripple40"."""
    return term.rstrip("0123456789") in NAMES


def truth_of(machine: Machine, fit: Fit) -> dict[str, float]:
    """The true values of a fit's parameters, by name, as far as the machine defines them."""
    known = dict(machine.truth)
    for family, values in machine.limbs.items():
        if family in known:
            known |= {f"{family}{i + 1}": float(v) for i, v in enumerate(values)}
    known |= term_values(machine.numbers)
    return {name: known[name] for name in fit.names if name in known}


def term_values(numbers: Mapping[str, Any]) -> dict[str, float]:
    """The true values of terms' parameters, where they mean the same in the machine."""
    return {"delay": float(numbers["delay"])} if "delay" in numbers else {}


@contextmanager
def timed_search(refused: Collection[str]) -> Iterator[dict[str, float]]:
    """Let `identify` search without the terms refused, and note the search's processor time."""
    found: dict[str, float] = {}

    def timed(loaded: Loaded, asked: FitOptions) -> Looked | None:
        start = time.process_time()
        looked = look(loaded, asked, without=refused)
        found["seconds"] = time.process_time() - start
        return looked

    with patch.object(import_module("deltadyn.identification.shared"), "look", timed):
        yield found


@cache
def _robot(name: str) -> dd.Robot:
    return dd.load_robot(name)
