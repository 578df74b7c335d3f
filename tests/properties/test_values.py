"""Data of kinematics, dynamics and methods are values: nobody changes them once they are made."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from deltadyn import dynamics, kinematics
from deltadyn.identification import methods

#: What changes while an algorithm runs, and never leaves it.
WORKING = {"_Flock"}


def declared(room: ModuleType) -> Iterator[Any]:
    """The dataclasses of a folder."""
    for found in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
        module = importlib.import_module(found.name)
        for thing in vars(module).values():
            if (
                isinstance(thing, type)
                and dataclasses.is_dataclass(thing)
                and thing.__module__ == found.name
            ):
                yield thing


@pytest.mark.parametrize("room", [kinematics, dynamics, methods], ids=lambda m: m.__name__)
def test_data_are_frozen_and_arrays_are_not_compared(room: ModuleType) -> None:
    """`==` of two arrays is an array: data that hold some are equal to themselves alone."""
    every = list(declared(room))
    assert every
    for kind in every:
        made = object.__new__(kind)
        if kind.__name__ not in WORKING:
            for field in dataclasses.fields(kind):
                with pytest.raises(dataclasses.FrozenInstanceError):
                    setattr(made, field.name, None)
        if any("Array" in str(field.type) for field in dataclasses.fields(kind)):
            assert kind.__eq__ is object.__eq__, kind
            assert hash(made) == hash(made), kind
