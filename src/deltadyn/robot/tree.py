"""YAML text as a tree of entries that know their path and line.

All YAML that a user gives is read here: plain values in mappings and lists, without aliases and
tags, every name once, no deeper than Python can go.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import yaml

from deltadyn.errors import FileError, RobotFileError

_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + kind for kind in ("str", "int", "float", "bool", "null", "timestamp")}
WRONG: Final = object()  # the value of an entry whose error is noted already
_SPECIAL = {".nan": math.nan, ".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf}


@dataclass(frozen=True)
class Entry:
    """A value of a file with its place.

    `value` is a dict of entries, a list of entries, a float, a text, a bool or None.
    """

    path: str
    line: int
    value: Any

    @property
    def shown(self) -> Any:
        """The value without places, for messages."""
        if isinstance(self.value, dict):
            return {key: entry.shown for key, entry in self.value.items()}
        if isinstance(self.value, list):
            return [entry.shown for entry in self.value]
        return "?" if self.value is WRONG else self.value


class NotedError(Exception):
    """Something cannot be made, for reasons that are noted already."""


class Text(NamedTuple):
    """What a text is, in messages, and the error that speaks of it."""

    file: str
    what: str = "robot file"
    error: type[FileError] = RobotFileError

    def wrong(self, problem: str, allowed: str, path: str = "", line: int | None = None) -> Any:
        """The error of a field, or of the whole file."""
        return self.error(
            path or self.what, None, allowed, path=self.file, line=line, problem=problem
        )


def read_entries(text: str, source: Text) -> tuple[Entry, list[Any]]:
    """The whole file as one entry, and what is wrong with its fields.

    The loader in C would be faster, but a file of many brackets overruns its stack.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            raise source.wrong("is empty", "a mapping")
        converter = _Converter(source)
        return converter.entry(node, "", node.start_mark.line + 1), converter.errors
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        raise source.wrong(f"is not YAML: {what}", "a YAML mapping", line=line) from error
    except RecursionError as error:
        raise source.wrong("is nested too deeply", "sections in sections") from error


class _Converter:
    """Nodes to entries; remembers the nodes, since an alias is a node met a second time."""

    def __init__(self, source: Text) -> None:
        self.source = source
        self.met: set[int] = set()
        self.errors: list[Any] = []

    def entry(self, node: Any, path: str, line: int) -> Entry:
        if id(node) in self.met:
            return self.wrong(path, line, "is an alias", "values written out, without & and *")
        self.met.add(id(node))
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return Entry(path, line, self.mapping(node, path))
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            items = [
                self.entry(item, f"{path}[{index}]", item.start_mark.line + 1)
                for index, item in enumerate(node.value)
            ]
            return Entry(path, line, items)
        if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
            return Entry(path, line, _scalar(node))
        return self.wrong(path, line, f"has the tag {node.tag!r}", "plain YAML without tags")

    def mapping(self, node: Any, path: str) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.wrong(path, line, "has a field whose name is not a word", "names")
                continue
            key = str(key_node.value)
            full = f"{path}.{key}" if path else key
            if key in entries:
                problem = f"is given twice, first in line {entries[key].line}"
                self.wrong(full, line, problem, "every field once")
                continue
            entries[key] = self.entry(value_node, full, line)
        return entries

    def wrong(self, path: str, line: int, problem: str, allowed: str) -> Entry:
        """Note an error; the entry of what it is about."""
        self.errors.append(self.source.wrong(problem, allowed, path, line))
        return Entry(path, line, WRONG)


def _scalar(node: Any) -> Any:
    """A number where it reads as one (YAML 1.1 takes 1e-3 for a text), else text, bool or None."""
    text: str = node.value
    if node.style is not None:
        return text
    if node.tag == _TAG + "null":
        return None
    if node.tag == _TAG + "bool":
        return text.lower() in ("true", "yes", "on")
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text
