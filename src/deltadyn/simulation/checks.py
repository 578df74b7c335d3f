"""Checks of settings: the robot's own rules, without blaming the robot."""

from __future__ import annotations

from typing import Any

from deltadyn.errors import InputError, RobotError
from deltadyn.robot_checks import each, number


def setting(path: str, value: Any, **limits: Any) -> float:
    """`value` as a finite float within limits, as `robot_checks.number`."""
    try:
        return number(path, value, **limits)
    except RobotError as error:
        raise InputError(error.quantity, error.value, error.allowed) from None


def settings(path: str, value: Any, count: int, **limits: Any) -> tuple[float, ...]:
    """One number for all, or `count` numbers, as `robot_checks.each`."""
    try:
        return each(path, value, count, **limits)
    except RobotError as error:
        raise InputError(error.quantity, error.value, error.allowed) from None
