"""modelDescription.xml of an FMU, for FMI 2.0 and 3.0, and the build description of FMI 3.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from xml.sax.saxutils import quoteattr

from deltadyn.exports.common import filled, number, provenance
from deltadyn.exports.fmu.variables import Variable
from deltadyn.robot import Robot

#: Unit and its exponents of the base units.
UNITS = {
    "s": {"s": 1},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2},
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2},
    "kg": {"kg": 1},
    "kg.m": {"kg": 1, "m": 1},
    "kg.m2": {"kg": 1, "m": 2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
    "N.m.s/rad": {"kg": 1, "m": 2, "s": -1, "rad": -1},
    "N.s/m": {"kg": 1, "s": -1},
    "1": {},
}
SUMMARY = {
    "plant": "Plant of a Delta robot: drive torques in, motion out",
    "inverse": "Inverse model of a Delta robot: motion in, feedforward torques out",
}
ELEMENTS = {
    "2.0": {"real": "Real", "integer": "Integer", "boolean": "Boolean"},
    "3.0": {"real": "Float64", "integer": "Int32", "boolean": "Boolean"},
}
TOKEN = "@TOKEN@"


def description(
    robot: Robot, model: str, name: str, fmi: str, layer: str, variables: Sequence[Variable]
) -> str:
    """The text of modelDescription.xml, with @TOKEN@ where the unit's identity goes."""
    told = ". ".join(" ".join(line.split()) for line in provenance(robot, SUMMARY[model]))
    structure = _structure_2(variables) if fmi == "2.0" else _structure_3(variables)
    words = {
        "name": quoteattr(name),
        "told": quoteattr(told),
        "tool": quoteattr(f"deltadyn {version('deltadyn')}"),
        "layer": quoteattr(layer),
        "units": "\n".join(_units(variables)),
        "variables": "\n".join(_variable(place, item, fmi) for place, item in enumerate(variables)),
        "structure": "\n".join(structure),
    }
    return filled("fmu", f"modelDescription_{fmi[0]}.xml", words)


def build_description(name: str, layer: str) -> str:
    """sources/buildDescription.xml of FMI 3.0."""
    words = {"name": quoteattr(name), "layer": quoteattr(layer)}
    return filled("fmu", "buildDescription.xml", words)


def _units(variables: Sequence[Variable]) -> Iterator[str]:
    used = {item.unit for item in variables}
    for unit, exponents in UNITS.items():
        if unit in used:
            powers = "".join(f' {base}="{power}"' for base, power in exponents.items())
            yield f"    <Unit name={quoteattr(unit)}><BaseUnit{powers}/></Unit>"


def _variable(place: int, item: Variable, fmi: str) -> str:
    outer = [
        f"name={quoteattr(item.name)}",
        f'valueReference="{place}"',
        f"description={quoteattr(item.description)}",
        f'causality="{item.causality}"',
        f'variability="{item.variability}"',
    ]
    initial = {"parameter": "exact", "output": "calculated"}.get(item.causality)
    if initial is not None:
        outer.append(f'initial="{initial}"')
    inner = [f"unit={quoteattr(item.unit)}"] if item.unit else []
    inner += [f'{name}="{number(value)}"' for name, value in _bounds(item) if value is not None]
    if isinstance(item.start, bool):
        inner.append(f'start="{str(item.start).lower()}"')
    elif item.start is not None:
        inner.append(f'start="{number(item.start)}"')
    element = ELEMENTS[fmi][item.kind]
    if fmi == "3.0":
        return f"    <{' '.join([element, *outer, *inner])}/>"
    return (
        f"    <ScalarVariable {' '.join(outer)}><{' '.join([element, *inner])}/></ScalarVariable>"
    )


def _bounds(item: Variable) -> tuple[tuple[str, float | None], ...]:
    return (("min", item.least), ("max", item.most))


def _structure_2(variables: Sequence[Variable]) -> Iterator[str]:
    """Unknowns by their place from 1."""
    acting = _acting(variables, first=1)
    outputs = _outputs(variables)
    yield "    <Outputs>"
    for place, item in outputs:
        depends = acting if item.feeds else ""
        yield f'      <Unknown index="{place + 1}" dependencies="{depends}"/>'
    yield "    </Outputs>"
    yield "    <InitialUnknowns>"
    for place, _ in outputs:
        yield f'      <Unknown index="{place + 1}"/>'
    yield "    </InitialUnknowns>"


def _structure_3(variables: Sequence[Variable]) -> Iterator[str]:
    """Unknowns by their value reference."""
    acting = _acting(variables, first=0)
    for place, item in _outputs(variables):
        depends = acting if item.feeds else ""
        yield f'    <Output valueReference="{place}" dependencies="{depends}"/>'
    for place, _ in _outputs(variables):
        yield f'    <InitialUnknown valueReference="{place}"/>'


def _outputs(variables: Sequence[Variable]) -> list[tuple[int, Variable]]:
    return [(place, item) for place, item in enumerate(variables) if item.causality == "output"]


def _acting(variables: Sequence[Variable], *, first: int) -> str:
    places = [place for place, item in enumerate(variables) if item.causality == "input"]
    return " ".join(str(place + first) for place in places)
