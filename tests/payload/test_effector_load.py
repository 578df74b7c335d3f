"""Mass, offset and inertia of a load on the 4-DOF robot, where the motion tells them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.payload.cases import D3, FOUR, case, coloured

from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.motion.motion import Motion
from deltadyn.payload.bench import pick_plan
from deltadyn.payload.effector_load import effector_load
from deltadyn.recording.recording import Recording

MASS, OFFSET, INERTIA = 1.2, (0.03, -0.02), 3e-3


def carried(motion: Motion, seed: int = 0) -> Recording:
    """A recording with the load on the effector, noise of 0.2 N m on arms and 0.01 on psi."""
    loaded = FOUR.with_payload(MASS, (*OFFSET, 0.0), INERTIA)
    noise = coloured(len(motion.t), 4, 0.2, 5e-3, seed) * [1.0, 1.0, 1.0, 0.05]
    tau = inverse_dynamics(loaded, motion) + noise
    return Recording(motion.t, motion.q, tau, qd=motion.qd, qdd=motion.qdd, name="loaded")


def test_all_of_it_is_found_where_the_motion_turns_and_moves() -> None:
    found = effector_load(FOUR, carried(pick_plan(FOUR, 4, seed=1).motion))
    assert found.mass == pytest.approx(MASS, abs=4 * found.mass_std)
    assert found.mass_std < 0.05
    assert found.offset is not None
    assert found.offset_std is not None
    for value, std, true in zip(found.offset, found.offset_std, OFFSET, strict=True):
        assert value == pytest.approx(true, abs=4 * std)
        assert std < 2e-3
    assert found.inertia is not None
    assert found.inertia_std is not None
    assert found.inertia == pytest.approx(INERTIA, abs=4 * found.inertia_std)
    assert found.inertia_std < 5e-4
    assert found.status == "the motion tells mass, offset and inertia"
    assert "offset x" in str(found)


def test_a_motion_without_a_turn_does_not_tell_the_inertia() -> None:
    motion = pick_plan(FOUR, 3, seed=1).motion
    p, pd, pdd = motion.p.copy(), motion.pd.copy(), motion.pdd.copy()
    p[:, 3] = pd[:, 3] = pdd[:, 3] = 0.0
    found = effector_load(FOUR, carried(Motion.from_platform(FOUR, motion.t, p, pd, pdd)))
    assert found.mass == pytest.approx(MASS, abs=4 * found.mass_std)
    assert found.offset is not None
    assert found.inertia is None
    assert found.status == "the motion does not tell the inertia (turn psi with acceleration)"


def test_wrong_calls() -> None:
    with pytest.raises(InputError, match="one whose tool turns"):
        effector_load(D3, case(3).recording)
    with pytest.raises(InputError, match="axes of the recording is 3; allowed: 4"):
        effector_load(FOUR, case(3).recording)
    with pytest.raises(InputError, match="model is 'int'; allowed: a Robot"):
        effector_load(3, case(3).recording)


def test_the_deviations_hold() -> None:
    motion = pick_plan(FOUR, 2, seed=1).motion
    runs = [effector_load(FOUR, carried(motion, seed)) for seed in range(12)]
    z = np.array([(found.mass - MASS) / found.mass_std for found in runs])
    assert 0.3 < np.sqrt(np.mean(z**2)) < 2.0  # twelve draws
