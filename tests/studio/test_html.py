"""Pieces of the page: escaped, with contrast."""

from deltadyn.report.verdict import BAD, Verdict
from deltadyn.studio.page import BOXES, message_box, preformatted, table, verdict_box
from deltadyn.studio.volumes import Key, legend

EVIL = "<script>alert(1)</script>"


def test_no_text_becomes_markup() -> None:
    pieces = (
        message_box("error", EVIL),
        table((EVIL,), [(EVIL,)], EVIL),
        preformatted(EVIL),
        legend([Key((1, 2, 3), EVIL)], EVIL),
        verdict_box(Verdict(BAD, (EVIL,), (EVIL,))),
    )
    for piece in pieces:
        assert "<script" not in piece
        assert "&lt;script&gt;" in piece


def test_numbers_stand_to_the_right() -> None:
    text = table(("a", "b"), [("1", "-2.5e-3"), ("x", "all kept")])
    assert 'text-align:right">-2.5e-3' in text
    assert 'text-align:left">1<' in text
    assert 'text-align:left">all kept' in text
    assert message_box("info", "") == ""


def test_boxes_can_be_read() -> None:
    """Contrast of at least 4.5 : 1, by the formula of WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    for ink, ground in BOXES.values():
        dark, light = sorted((luminance(ink), luminance(ground)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5
