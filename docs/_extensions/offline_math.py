"""Formulas as MathML, which browsers draw without a script and without a network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

PRIMES = re.compile(r"(_(?:\{[^{}]*\}|\w))?('+)")
DOTS = re.compile(r"<mo>(&#x002D9;|&#x000A8;)</mo>")
MATRIX = re.compile(
    r"<mo[^>]*>&#x00028;</mo>\s*<mtable([^>]*)>(.*?)</mtable>\s*<mo[^>]*>&#x00029;</mo>"
)
BAR = re.compile(r'<mo(?: stretchy="false")?>(&#x0007C;|\|)</mo>')


def mathml(text: str, display: str = "inline") -> str:
    """A formula in TeX as MathML, mended for browsers.

    Several primes become one superscript, primes and dots are large enough to be read, and bars
    take no room: they are absolute values here. A matrix has borders, since brackets do not grow
    where a system has no font for mathematics.
    """
    single = PRIMES.sub(lambda m: (m[1] or "") + "^{" + r"\prime" * len(m[2]) + "}", text)
    shown = convert(single, display=display)
    shown = DOTS.sub(r'<mo class="dot">\1</mo>', shown)
    shown = MATRIX.sub(r'<mtable class="matrix"\1>\2</mtable>', shown)
    shown = BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', shown)
    shown = shown.replace("<mi>&#x02AB0;</mi>", "<mo>&#x02AB0;</mo>")
    return re.sub(r"<m([io])>&#x02032;</m\1>", '<mo class="prime">&#x02032;</mo>', shown)


def visit_math(translator: Any, node: nodes.Element) -> None:
    """A formula within a line."""
    translator.body.append(f'<span class="math">{mathml(node.astext())}</span>')
    raise nodes.SkipNode


def visit_math_block(translator: Any, node: nodes.Element) -> None:
    """A formula on its own, with its number where it has one."""
    for part in _lines(node.astext()):
        translator.body.append(f'<div class="math">{mathml(part, display="block")}</div>\n')
    raise nodes.SkipNode


def _lines(text: str) -> list[str]:
    """Lines of an aligned block, each a formula: MathML tables align badly."""
    for word in ("aligned", "align*", "align", "gather*", "gather"):
        text = text.replace(f"\\begin{{{word}}}", "").replace(f"\\end{{{word}}}", "")
    if "\\begin{" in text:
        return [text]
    return [line.replace("&", "").strip() for line in text.split("\\\\") if line.strip(" &\n")]


def setup(app: Any) -> dict[str, Any]:
    """Register the writers of formulas."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_math, None), block_renderers=(visit_math_block, None)
    )
    app.config.html_math_renderer = "mathml"
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
