"""Pages and figures live in `report`: no algorithm imports plotting or writes HTML."""

from pathlib import Path

import pytest

import deltadyn
from deltadyn import doors
from deltadyn.errors import InputError

ROOT = Path(deltadyn.__file__).parent
MARKS = ("import plotly", "from plotly", "from html import", "import html", "<table", "<div")
#: The studio is a page itself.
ROOMS = ("report", "studio")


def test_no_algorithm_draws_or_writes_html() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {mark}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in ROOMS
        for mark in MARKS
        if mark in path.read_text("utf-8")
    ]
    assert found == []
    assert any(mark in (ROOT / "report" / "html.py").read_text("utf-8") for mark in MARKS)


@pytest.mark.parametrize("kind", sorted(doors.PAGES))
def test_every_door_opens(kind: str) -> None:
    assert callable(doors.writer(kind))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="kind of a page is 'poem'"):
        doors.write_page("poem", None, "poem.html")
