"""What cannot be identified is said before the search."""

from __future__ import annotations

import numpy as np
import pytest
from tests.excitation.cases import ABB, D3, problem

from deltadyn.errors import DeltadynError
from deltadyn.excitation import UnidentifiableError, design_excitation
from deltadyn.excitation.criteria import choose_parameters, identifiability
from deltadyn.excitation.search import Workers
from deltadyn.robot import Robot
from deltadyn.robot.settings import PassiveFriction

WEIGHTLESS = D3.replace(gravity=0.0)
SWAYING = D3.with_friction(
    passive=(PassiveFriction("elbow_sway", 0.1, 0.1), PassiveFriction("platform_sway", 0.1, 0.1))
)


@pytest.mark.full
@pytest.mark.parametrize(
    ("robot", "still", "message"),
    [
        (WEIGHTLESS, (), "^G has no influence on the torque in any motion of this kind; move"),
        (ABB, ("psi",), "^I_psi, Fv4, Fc4 have no influence on the torque"),
        (SWAYING, (), "elbow_sway.Fv, elbow_sway.Fc, platform_sway.Fv, .* are linearly dependent"),
    ],
)
def test_it_is_said_before_the_search(
    robot: Robot, still: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workers, "run", lambda *_: pytest.fail("a search began"))
    with pytest.raises(UnidentifiableError, match=message) as caught:
        design_excitation(robot, still=still, jobs=1)
    assert isinstance(caught.value, DeltadynError)
    assert caught.value.no_influence or caught.value.dependent


def test_the_others_can_be_designed_for() -> None:
    case, ready = problem(ABB, still=("psi",), unidentifiable="drop")
    assert not {"I_psi", "Fv4", "Fc4"} & set(ready.chosen.names)
    assert "h_x" in ready.chosen.names  # the drive holds against the effector's first moment
    assert ready.unidentifiable.startswith("I_psi, Fv4, Fc4 have no influence")
    assert case.free.sum() == 3 * 7
    _, both = problem(SWAYING, unidentifiable="drop")
    sway = [name for name in both.chosen.names if "sway" in name]
    assert len(sway) == 2  # one joint of the pair stands for both


def test_ranks() -> None:
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((50, 4))
    whole = identifiability(("a", "b", "c", "d"), Y)
    assert whole.complete
    assert whole.keep == (0, 1, 2, 3)
    Y[:, 1] = 0.0
    Y[:, 3] = 2 * Y[:, 0] - Y[:, 2]
    part = identifiability(("a", "b", "c", "d"), Y)
    assert part.no_influence == ("b",)
    assert part.dependent == ("a", "c", "d")
    assert len(part.keep) == 2


def test_parameters_are_those_of_the_model() -> None:
    with_friction = choose_parameters(D3, "exact", True, True)
    assert with_friction.names[:4] == ("M_P", "m_x", "A", "G")
    assert len(with_friction.names) == 10
    without = choose_parameters(D3, "exact", True, False)
    assert without.names == ("M_P", "m_x", "A", "G")
    assert len(without.all_values) == 10  # friction stays in the torque
    rigid = choose_parameters(D3, "rigid", True, True)
    assert len(rigid.names) == 18  # 12 base parameters and 6 of friction
