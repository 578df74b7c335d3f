"""Random straight-line code, whose values stay finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deltadyn.tape.tape import SCALARS

INPUTS = {"a": 3, "b": 2}
Code = Callable[..., list[Any]]


def random_code(seed: int, *, smooth: bool = False, length: int = 40) -> Code:
    """Code of two groups of inputs and any namespace; `smooth` has no choice and no sign."""
    rng = np.random.default_rng(seed)
    words = ["+", "+", "-", "-", "*", "*", "/", "neg", "sqrt", "cos", "sin", "tanh", "exp"]
    words += [] if smooth else ["abs", "where"]
    steps = [
        (str(rng.choice(words)), rng.integers(0, 10**6, 4).tolist(), float(rng.choice(NUMBERS)))
        for _ in range(length)
    ]
    results = rng.integers(0, 10**6, 4).tolist()

    def code(a: Sequence[Any], b: Sequence[Any], xp: Any = SCALARS) -> list[Any]:
        values = [*a, *b, 0.0, 1.0]
        for word, places, number in steps:
            x, y, u, v = (values[-1 - place % len(values)] for place in places)
            values += [_step(xp, word, x, y, u, v), number]
        return [values[place % len(values)] for place in results] + values[-2:-1]

    return code


NUMBERS = (0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 0.1)


def _step(xp: Any, word: str, x: Any, y: Any, u: Any, v: Any) -> Any:
    """One operation, with operands brought to where it is tame."""
    match word:
        case "+":
            return xp.tanh(x) + y * 0.5
        case "-":
            return x - xp.sin(y)
        case "*":
            return xp.cos(x) * y
        case "/":
            return x / (1.5 + xp.tanh(y))
        case "neg":
            return -x
        case "sqrt":
            return xp.sqrt(1.25 + xp.sin(x))
        case "exp":
            return xp.exp(xp.tanh(x))
        case "abs":
            return xp.abs(x)
        case "where":
            return xp.where(x < y, u, v)
        case _:
            return getattr(xp, word)(x)
