"""A small evaluator of Structured Text: the common subset of CODESYS, TwinCAT and B&R, no more.

The text is parsed strictly (declared names, no mixing of LREAL and DINT, no other statement than
those the exports use) and becomes a Python function. What traps on a controller raises here:
a division by zero, the root of a negative number, an exponential that overflows, an index out of
bounds; with `strict` also any LREAL that is not finite. AND and OR look at both sides. With
`single` an LREAL keeps the 32 bits of a REAL, as on controllers that have no other.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

TOKEN = re.compile(
    r"\s*(?:(?P<comment>\(\*.*?\*\))|(?P<text>'[^'$]*')"
    r"|(?P<real>(?:LREAL#)?\d+\.\d+(?:E[-+]?\d+)?)|(?P<int>\d+)(?!\w)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>:=|\.\.|<=|>=|<>|[-+*/<>=()\[\],;:.]))",
    re.S,
)
FUNCTIONS = {"sqrt", "abs", "exp", "atan", "sin", "cos", "ln"}
ZERO: dict[str, Any] = {"lreal": 0.0, "dint": 0, "bool": False, "string": ""}


class StructuredTextError(ValueError):
    """The text is not of the subset."""


@dataclass
class Declared:
    """Kind of a variable, bounds of an array, section it stands in."""

    kind: str
    bounds: tuple[int, int] | None
    section: str


@dataclass
class Source:
    """A parsed function block."""

    name: str
    variables: dict[str, Declared]
    code: Callable[[dict[str, Any], Callable[[float], float]], None]


@dataclass
class Instance:
    """A function block with its variables; names are case-insensitive."""

    source: Source
    library: dict[str, Source]
    strict: bool = True
    single: bool = False
    values: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, declared in self.source.variables.items():
            self.values[name] = self._fresh(declared)

    def _fresh(self, declared: Declared) -> Any:
        if declared.kind not in ZERO:
            return Instance(self.library[declared.kind], self.library, self.strict, self.single)
        zero = ZERO[declared.kind]
        if declared.bounds is None:
            return zero
        return [zero] * (declared.bounds[1] - declared.bounds[0] + 1)

    def __call__(self, **inputs: Any) -> Instance:
        for name, value in inputs.items():
            own = self.source.variables[name.lower()]
            assert own.section == "var_input", name
            self.values[name.lower()] = value
        self.source.code(self.values, self.keep)
        return self

    @property
    def keep(self) -> Callable[[float], float]:
        """What becomes of a value that is given to an LREAL."""
        if self.single:
            return _single
        return _finite if self.strict else _any

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name.lower()]
        except KeyError:
            raise AttributeError(name) from None


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise OverflowError("an LREAL is not finite")
    return value


def _any(value: float) -> float:
    return value


def _single(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def load(text: str) -> dict[str, Source]:
    """All function blocks of a text, by name in lower case."""
    parser = _Parser(list(_tokens(text)))
    while parser.more():
        block = parser.block()
        parser.blocks[block.name.lower()] = block
    return parser.blocks


def instance(text: str, name: str, *, strict: bool = True, single: bool = False) -> Instance:
    """An instance of a block of a text."""
    library = load(text)
    return Instance(library[name.lower()], library, strict, single)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise StructuredTextError(f"no token at {text[place : place + 40]!r}")
        kind = str(match.lastgroup)
        if kind != "comment":
            yield kind, match.group(kind)
        place = match.end()


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens, self.place = tokens, 0
        self.variables: dict[str, Declared] = {}
        self.spelled: dict[str, str] = {}
        self.blocks: dict[str, Source] = {}

    def more(self) -> bool:
        return self.place < len(self.tokens)

    def peek(self) -> str:
        return self.tokens[self.place][1].upper() if self.more() else ""

    def take(self, *wanted: str) -> str:
        if not self.more():
            raise StructuredTextError("the text ends too early")
        kind, text = self.tokens[self.place]
        if wanted and text.upper() not in wanted and kind not in wanted:
            near = " ".join(t for _, t in self.tokens[self.place - 8 : self.place + 4])
            raise StructuredTextError(f"{text!r} instead of {' or '.join(wanted)} in {near!r}")
        self.place += 1
        return text

    def accept(self, text: str) -> bool:
        if self.peek() != text:
            return False
        self.place += 1
        return True

    # declarations

    def block(self) -> Source:
        self.take("FUNCTION_BLOCK")
        name, self.variables, self.spelled = self.take("name"), {}, {}
        while self.peek() in ("VAR_INPUT", "VAR_OUTPUT", "VAR"):
            section = self.take().lower()
            while not self.accept("END_VAR"):
                self.declaration(section)
        lines = self.statements(("END_FUNCTION_BLOCK",), "        ")
        self.take("END_FUNCTION_BLOCK")
        return Source(name, self.variables, self.compiled(name, lines))

    def declaration(self, section: str) -> None:
        names = [self.take("name")]
        while self.accept(","):
            names.append(self.take("name"))
        self.take(":")
        bounds = None
        if self.accept("ARRAY"):
            self.take("[")
            low = int(self.take("int"))
            self.take("..")
            bounds = (low, int(self.take("int")))
            self.take("]")
            self.take("OF")
        kind = self.take("name").lower()
        if kind == "string":  # a text of constant length
            self.take("[")
            self.take("int")
            self.take("]")
        self.take(";")
        for name in names:
            if name.lower() in self.variables:
                raise StructuredTextError(f"{name} is declared twice")
            self.variables[name.lower()] = Declared(kind, bounds, section)
            self.spelled[name.lower()] = name

    def compiled(self, name: str, lines: list[str]) -> Any:
        scalars = [n for n, d in self.variables.items() if d.bounds is None and d.kind in ZERO]
        source = ["def run(V, keep):"]
        source += [f"    v_{n} = V[{n!r}]" for n in self.variables]
        source += ["    try:", *(lines or ["        pass"]), "    finally:"]
        source += [f"        V[{n!r}] = v_{n}" for n in scalars] or ["        pass"]
        scope: dict[str, Any] = {
            n: getattr(math, {"ln": "log"}.get(n, n)) for n in FUNCTIONS - {"abs"}
        }
        scope["at"] = _at
        exec(compile("\n".join(source), name, "exec"), scope)
        return scope["run"]

    # statements

    def statements(self, ends: tuple[str, ...], indent: str) -> list[str]:
        lines: list[str] = []
        while self.peek() not in ends:
            lines += self.statement(indent)
        return lines

    def statement(self, indent: str) -> list[str]:
        word = self.peek()
        if word == "IF":
            return self.condition(indent)
        if word == "FOR":
            return self.loop(indent)
        if word in ("RETURN", "EXIT"):
            self.take()
            self.take(";")
            return [f"{indent}{'return' if word == 'RETURN' else 'break'}"]
        name = self.take("name")
        if self.peek() == "(":
            return self.call(self.own(name), indent)
        target, kind = self.variable(name)
        self.take(":=")
        value, given = self.expression()
        self.same(kind, given)
        self.take(";")
        return [f"{indent}{target} = {f'keep({value})' if kind == 'lreal' else value}"]

    def call(self, name: str, indent: str) -> list[str]:
        self.take("(")
        inputs = []
        while not self.accept(")"):
            own = self.take("name").lower()
            self.take(":=")
            value, kind = self.expression()
            self.same(self.member(name, own).kind, kind)
            inputs.append(f"{own}={value}")
            if self.peek() != ")":
                self.take(",")
        self.take(";")
        return [f"{indent}v_{name}({', '.join(inputs)})"]

    def condition(self, indent: str) -> list[str]:
        lines, word = [], "if"
        self.take("IF")
        while True:
            value, kind = self.expression()
            self.same("bool", kind)
            self.take("THEN")
            inner = self.statements(("ELSIF", "ELSE", "END_IF"), indent + "    ")
            lines += [f"{indent}{word} {value}:", *(inner or [f"{indent}    pass"])]
            if not self.accept("ELSIF"):
                break
            word = "elif"
        if self.accept("ELSE"):
            lines += [f"{indent}else:", *self.statements(("END_IF",), indent + "    ")]
        self.take("END_IF")
        self.take(";")
        return lines

    def loop(self, indent: str) -> list[str]:
        self.take("FOR")
        counter, kind = self.variable(self.take("name"))
        self.take(":=")
        low, first = self.expression()
        self.take("TO")
        high, last = self.expression()
        for own in (kind, first, last):
            self.same("dint", own)
        self.take("DO")
        inner = self.statements(("END_FOR",), indent + "    ")
        self.take("END_FOR")
        self.take(";")
        return [f"{indent}for {counter} in range({low}, {high} + 1):", *inner]

    # expressions: text and kind

    def expression(self) -> tuple[str, str]:
        return self.logical("OR", "|", lambda: self.logical("AND", "&", self.comparison))

    def logical(self, word: str, sign: str, part: Any) -> tuple[str, str]:
        text, kind = part()
        while self.accept(word):
            self.same("bool", kind)
            other, own = part()
            self.same("bool", own)
            text = f"({text} {sign} {other})"
        return text, kind

    def comparison(self) -> tuple[str, str]:
        text, kind = self.sum()
        signs = {"<": "<", ">": ">", "<=": "<=", ">=": ">=", "=": "==", "<>": "!="}
        if self.peek() in signs:
            sign = signs[self.take()]
            other, own = self.sum()
            self.same(kind, own)
            return f"({text} {sign} {other})", "bool"
        return text, kind

    def sum(self) -> tuple[str, str]:
        return self.chain(("+", "-"), self.product)

    def product(self) -> tuple[str, str]:
        return self.chain(("*", "/", "MOD"), self.unary)

    def chain(self, signs: tuple[str, ...], part: Any) -> tuple[str, str]:
        text, kind = part()
        while self.peek() in signs:
            sign = self.take().upper()
            other, own = part()
            self.same(kind, own)
            if (
                kind == "bool"
                or (sign == "/") > (kind == "lreal")
                or (sign == "MOD") != (sign == "MOD" and kind == "dint")
            ):
                raise StructuredTextError(f"{sign} of {kind}")
            text = f"({text} {'%' if sign == 'MOD' else sign} {other})"
        return text, kind

    def unary(self) -> tuple[str, str]:
        if self.accept("-"):
            text, kind = self.atom()
            return f"(-{text})", kind
        if self.accept("NOT"):
            text, kind = self.atom()
            self.same("bool", kind)
            return f"(not {text})", kind
        return self.atom()

    def atom(self) -> tuple[str, str]:
        kind, text = self.tokens[self.place]
        if self.accept("("):
            inner = self.expression()
            self.take(")")
            return f"({inner[0]})", inner[1]
        self.place += 1
        if kind == "real":
            return text.removeprefix("LREAL#"), "lreal"
        if kind == "int":
            return text, "dint"
        if kind == "text":
            return text, "string"
        if kind != "name":
            raise StructuredTextError(f"{text!r} in an expression")
        if text.upper() in ("TRUE", "FALSE"):
            return text.capitalize(), "bool"
        if self.peek() == "(":
            return self.function(text.lower())
        return self.variable(text)

    def function(self, name: str) -> tuple[str, str]:
        if name not in FUNCTIONS:
            raise StructuredTextError(f"{name} is not a function of the subset")
        self.take("(")
        text, kind = self.expression()
        if name != "abs":
            self.same("lreal", kind)
        self.take(")")
        return f"{name}({text})", kind

    def own(self, spelling: str) -> str:
        """A declared name in lower case; B&R wants it spelled as it was declared."""
        if self.spelled.get(spelling.lower()) != spelling:
            raise StructuredTextError(f"{spelling} is not declared")
        return spelling.lower()

    def variable(self, spelling: str) -> tuple[str, str]:
        name = self.own(spelling)
        declared = self.variables[name]
        if self.accept("."):
            own = self.take("name").lower()
            return f"v_{name}.{own}", self.member(name, own).kind
        if declared.bounds is None:
            return f"v_{name}", declared.kind
        self.take("[")
        index, kind = self.expression()
        self.same("dint", kind)
        self.take("]")
        return f"v_{name}[at({index}, {declared.bounds[0]}, {declared.bounds[1]})]", declared.kind

    def member(self, name: str, own: str) -> Declared:
        block = self.blocks.get(self.variables[name].kind)
        if block is None or own not in block.variables:
            raise StructuredTextError(f"{name}.{own} is not declared")
        return block.variables[own]

    @staticmethod
    def same(wanted: str, given: str) -> None:
        if wanted != given:
            raise StructuredTextError(f"{given} where {wanted} is wanted")


def _at(index: int, low: int, high: int) -> int:
    if not low <= index <= high:
        raise IndexError(f"{index} is not within {low}..{high}")
    return index - low
