"""What Pinocchio says of some states of every kind, kept beside this file.

With it the comparison needs no Pinocchio. `python -m tests.reference.family.stored` writes it;
test_trees.py holds it against Pinocchio where that is installed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from tests.reference.engines.spec import Array

from .closure import States
from .draw import KINDS, random_member
from .states import states

ANSWERS = Path(__file__).with_name("pinocchio.npz")
STATES = 6  # of each member
SEED = 7
#: Kind, seed and whether limbs are equal, of each member that is drawn.
MEMBERS = [(kind, seed, equal) for kind in KINDS for seed, equal in ((0, False), (1, True))]


def stored_states(kind: str, seed: int, equal: bool) -> States:
    """The stored states of the member `random_member(kind, seed, equal=equal)`."""
    answers = _answers()
    member = MEMBERS.index((kind, seed, equal))
    return States(*(answers[f"{member}_{name}"] for name in States._fields))


@cache
def _answers() -> dict[str, Array]:
    with np.load(ANSWERS) as archive:
        return dict(archive)


def pinocchio_states(kind: str, seed: int, equal: bool) -> States:
    """The same states as Pinocchio gives them now."""
    return states(random_member(kind, seed, equal=equal), STATES, SEED, "pinocchio")


def store_states() -> None:
    """Ask Pinocchio about every member and write the file."""
    answers = {
        f"{i}_{name}": values
        for i, member in enumerate(MEMBERS)
        for name, values in pinocchio_states(*member)._asdict().items()
    }
    np.savez_compressed(ANSWERS, allow_pickle=False, **answers)


if __name__ == "__main__":
    store_states()
