"""The papers' experiments are written on public names only, one file for each paper."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tools.paper_pages import PAPERS

import deltadyn

FOLDER = Path(deltadyn.__file__).parent / "reproduce"


def private_imports(text: str) -> Iterator[str]:
    """Names that are not in `__all__` (or `dir`) of the package or of one of its rooms."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("deltadyn."))
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("deltadyn"):
            continue
        assert node.module is not None
        if node.module.startswith("deltadyn.reproduce."):
            continue  # what the papers share
        room = import_module(node.module)
        public = getattr(room, "__all__", dir(room))
        deep = node.module.count(".") > 1
        yield from (f"{node.module}.{a.name}" for a in node.names if deep or a.name not in public)


@pytest.mark.parametrize("key", PAPERS)
def test_an_experiment_uses_public_names(key: str) -> None:
    assert list(private_imports((FOLDER / f"{key}.py").read_text("utf-8"))) == []


def test_a_private_name_is_seen() -> None:
    text = (
        "from deltadyn.dynamics.exact import torque\nfrom deltadyn.dynamics import inverse_dynamics"
    )
    assert list(private_imports(text)) == ["deltadyn.dynamics.exact.torque"]
    assert list(private_imports("import deltadyn.small")) == ["deltadyn.small"]
