"""modelDescription.xml of an FMU, for FMI 2.0 and 3.0, and the build description of FMI 3.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from xml.sax.saxutils import quoteattr

from deltadyn.exports.common import number, provenance
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
STOP_TIME, COMMUNICATION_STEP = 1.0, 0.001  # s, of the default experiment
TOKEN = "@TOKEN@"


def description(
    robot: Robot, model: str, name: str, fmi: str, layer: str, variables: Sequence[Variable]
) -> str:
    """The text of modelDescription.xml, with @TOKEN@ where the unit's identity goes."""
    written = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        *_head(robot, model, name, fmi),
        *_interface(name, fmi, layer),
        *_units(variables),
        "  <LogCategories>",
        '    <Category name="logStatusDiscard" description="a step or a value that was refused"/>',
        '    <Category name="logStatusError" description="a call that cannot be answered"/>',
        "  </LogCategories>",
        f'  <DefaultExperiment startTime="0.0" stopTime="{STOP_TIME}" '
        f'stepSize="{COMMUNICATION_STEP}"/>',
        "  <ModelVariables>",
        *(_variable(place, item, fmi) for place, item in enumerate(variables)),
        "  </ModelVariables>",
        "  <ModelStructure>",
        *(_structure_2(variables) if fmi == "2.0" else _structure_3(variables)),
        "  </ModelStructure>",
        "</fmiModelDescription>",
    ]
    return "\n".join(written) + "\n"


def build_description(name: str, layer: str) -> str:
    """sources/buildDescription.xml of FMI 3.0."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<fmiBuildDescription fmiVersion="3.0">\n'
        f"  <BuildConfiguration modelIdentifier={quoteattr(name)}>\n"
        '    <SourceFileSet language="C99">\n'
        f"      <SourceFile name={quoteattr(layer)}/>\n"
        "    </SourceFileSet>\n"
        '    <Library name="m"/>\n'
        "  </BuildConfiguration>\n"
        "</fmiBuildDescription>\n"
    )


def _head(robot: Robot, model: str, name: str, fmi: str) -> Iterator[str]:
    identity = "guid" if fmi == "2.0" else "instantiationToken"
    told = ". ".join(" ".join(line.split()) for line in provenance(robot, SUMMARY[model]))
    yield f"<fmiModelDescription fmiVersion={quoteattr(fmi)}"
    yield f"  modelName={quoteattr(name)}"
    yield f'  {identity}="{TOKEN}"'
    yield f"  description={quoteattr(told)}"
    yield f"  generationTool={quoteattr('deltadyn ' + version('deltadyn'))}"
    yield '  variableNamingConvention="structured">'


def _interface(name: str, fmi: str, layer: str) -> Iterator[str]:
    yield f"  <CoSimulation modelIdentifier={quoteattr(name)}"
    yield '    canHandleVariableCommunicationStepSize="true"'
    yield '    canBeInstantiatedOnlyOncePerProcess="false"'
    if fmi == "3.0":
        yield '    canGetAndSetFMUState="true"'
        yield '    canSerializeFMUState="true"/>'
        return
    yield '    canInterpolateInputs="false"'
    yield '    maxOutputDerivativeOrder="0"'
    yield '    canRunAsynchronuously="false"'  # the standard spells it so
    yield '    canNotUseMemoryManagementFunctions="true"'
    yield '    canGetAndSetFMUstate="true"'
    yield '    canSerializeFMUstate="true">'
    yield f"    <SourceFiles><File name={quoteattr(layer)}/></SourceFiles>"
    yield "  </CoSimulation>"


def _units(variables: Sequence[Variable]) -> Iterator[str]:
    used = {item.unit for item in variables}
    yield "  <UnitDefinitions>"
    for unit, exponents in UNITS.items():
        if unit in used:
            powers = "".join(f' {base}="{power}"' for base, power in exponents.items())
            yield f"    <Unit name={quoteattr(unit)}><BaseUnit{powers}/></Unit>"
    yield "  </UnitDefinitions>"


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
