"""Transforms of straight-line code that make its C faster and keep what it computes."""

from __future__ import annotations

from deltadyn.tape.tape import Function, operands_of, ordered


def in_depth(function: Function) -> Function:
    """Every operation right before the first that needs it, so that few values wait in registers.

    A compiler keeps the order of a long line of code more or less as it is written.
    """
    order: list[int] = []
    done: set[int] = set()
    for root in function.results:
        waiting = [(root, False)]
        while waiting:
            place, ready = waiting.pop()
            if place in done:
                continue
            if ready:
                done.add(place)
                order.append(place)
                continue
            waiting.append((place, True))  # behind its operands
            waiting += [(k, False) for k in reversed(operands_of(function.entries[place]))]
    return ordered(function, order)
