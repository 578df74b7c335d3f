"""The exact model's source runs on CasADi symbols and on complex numbers with the same numbers."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
import pytest

import deltadyn as dd
from deltadyn.dynamics import exact, exact_parameters
from deltadyn.kinematics.limbs import arm_directions, joint_rates, limbs, platform_point
from deltadyn.reproduce.ladder import random_states


class Symbols:
    """The functions that the model's source asks of its namespace, on CasADi symbols."""

    sqrt, cos, sin = casadi.sqrt, casadi.cos, casadi.sin

    @staticmethod
    def where(condition: Any, yes: Any, no: Any) -> Any:
        return casadi.if_else(condition, yes, no)


def traced(robot: dd.Robot) -> Any:
    """A CasADi function from p, pd, pdd to torques and the platform point of the arms found."""
    par, dof = exact_parameters(robot), robot.dof
    inputs = [casadi.SX.sym(name, dof) for name in ("p", "pd", "pdd")]
    p, pd, pdd = (tuple(casadi.vertsplit(symbol)) for symbol in inputs)
    cos_q, sin_q = arm_directions(Symbols, limbs(robot), p)
    qd, qdd = joint_rates(np, limbs(robot), cos_q, sin_q, p, pd, pdd)
    tau = exact.inverse_dynamics(Symbols, par, cos_q, sin_q, qd, qdd, p, pd, pdd)
    back = platform_point(Symbols, limbs(robot), cos_q, sin_q)
    return casadi.Function("model", inputs, [casadi.vertcat(*tau), casadi.vertcat(*back)])


@pytest.mark.parametrize("name", ["example-delta", "example-delta-4"])
def test_symbols_give_numpys_torques(name: str) -> None:
    robot = dd.load_robot(name)
    state = random_states(robot, 50, seed=4)
    tau = dd.inverse_dynamics(robot, state, friction=False)
    symbolic, back = (np.array(out).T for out in traced(robot)(state.p.T, state.pd.T, state.pdd.T))
    # the same operations in the same order, up to the roundings of another compiler
    np.testing.assert_allclose(symbolic, tau, rtol=0, atol=1e-12 * np.abs(tau).max())
    np.testing.assert_allclose(back, state.p[:, :3], rtol=0, atol=1e-12)


def test_a_complex_step_gives_the_mass_matrix() -> None:
    """tau is affine in qdd: the imaginary part of a step along qdd_j is the column M_j."""
    robot = dd.load_robot("example-delta-4")
    state = random_states(robot, 20, seed=5)
    par, J = exact_parameters(robot), dd.jacobian(robot, state.p)
    M = dd.equations_of_motion(robot, state).M
    step = 1e-30
    for axis in range(4):
        qdd, pdd = state.qdd.astype(complex), state.pdd.astype(complex)
        qdd[:, axis] += 1j * step
        pdd += 1j * step * J[:, :, axis]
        parts = (state.cos_q, state.sin_q, state.qd, qdd, state.p, state.pd, pdd)
        tau = exact.inverse_dynamics(np, par, *(tuple(part.T) for part in parts))
        column = np.stack([np.imag(component) / step for component in tau], axis=-1)
        np.testing.assert_allclose(column, M[:, :, axis], rtol=0, atol=1e-12 * np.abs(M).max())
