"""Pages: whole files, escaped text, numbers to the right."""

from pathlib import Path

from deltadyn.report.html import list_html, table_html, write_page


def test_a_page_is_written_whole_and_escaped(tmp_path: Path) -> None:
    path = write_page(tmp_path / "deep" / "page.html", "a < b", ["<p>block</p>"])
    text = path.read_text("utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "<h1>a &lt; b</h1>" in text
    assert "<p>block</p>" in text
    assert text.endswith("</body></html>\n")
    assert [item.name for item in path.parent.iterdir()] == ["page.html"]


def test_tables_set_numbers_to_the_right() -> None:
    text = table_html(("name", "value"), [("m_x <kg>", "1.5e-03"), ("n", "-")])
    assert "<td>m_x &lt;kg&gt;</td><td class=n>1.5e-03</td>" in text
    assert text.count("<tr>") == 3


def test_an_empty_list_is_nothing() -> None:
    assert list_html("Title", []) == ""
    assert list_html("Title", ["one & two"]) == "<h2>Title</h2><ul><li>one &amp; two</li></ul>"
