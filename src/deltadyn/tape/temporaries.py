"""What goes into its place in an expression, and what shares a temporary: for code on controllers.

A value that is used once goes into its place. The others get temporaries, of which each is free
again behind the last use of what it holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from deltadyn.tape.tape import OPERATIONS, Entry, Function, operands_of

LONGEST = 5  # operations in an expression that goes into another one
DIGITS = 8  # a number with more takes the room of two operations


def stored_values(function: Function, apart: Iterable[int]) -> set[int]:
    """Places of what gets a temporary: `apart`, what is used again, and what is too long."""
    entries = function.entries
    uses = Counter(k for entry in entries for k in operands_of(entry))
    again = {k for k, times in uses.items() if times > 1} | {*function.results, *apart}
    stored = {k for k in again if entries[k][0] in OPERATIONS}
    sizes: list[int] = []  # of the expression
    for place, entry in enumerate(entries):
        within = (sizes[k] for k in operands_of(entry) if k not in stored)
        sizes.append(_size(entry) + sum(within))
        if entry[0] in OPERATIONS and sizes[place] > LONGEST:
            stored.add(place)
    return stored


def _size(entry: Entry) -> int:
    """The room of an entry alone, in operations."""
    if entry[0] == "constant":
        return 2 * (len(repr(entry[1])) > DIGITS)
    return int(entry[0] in OPERATIONS)


def temporaries(
    function: Function, stored: set[int], late: Collection[int] = ()
) -> tuple[dict[int, int], int]:
    """The number of the temporary of every stored value, and how many there are.

    Values that are read last by one in `late` are needed until it is whole.
    """
    ending = _last_reads(function, stored)
    slots: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for place in sorted(stored):
        done = [slots[k] for k in ending[place]]
        free += [] if place in late else done
        if not free:
            count += 1
            free.append(count)
        slots[place] = free.pop()
        free += done if place in late else []
    return slots, count


def _last_reads(function: Function, stored: set[int]) -> dict[int, list[int]]:
    """The stored values that each stored value reads last; results are read at the very end."""
    reads: list[set[int]] = []
    last: dict[int, int] = {}
    for place, entry in enumerate(function.entries):
        reads.append(set().union(*({k} if k in stored else reads[k] for k in operands_of(entry))))
        if place in stored:
            last.update(dict.fromkeys(reads[place], place))
    ending: dict[int, list[int]] = defaultdict(list)
    for k in last.keys() - set(function.results):
        ending[last[k]].append(k)
    return ending
