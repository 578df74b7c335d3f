"""Names that try to be markup, and what a browser would run of a page that lets them."""

from __future__ import annotations

from html.parser import HTMLParser

PLOTLY = "/**\n* plotly.js v"
EVIL = (
    "<img src=x onerror=alert(1)></script><script>alert(2)</script></title>"
    "<a href='javascript:alert(3)'>[x](javascript:alert(4))&amp;\"'"
)


class _Watch(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._script = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._script = tag == "script"
        for name, value in attributes:
            text = (value or "").strip().lower()
            if (name.startswith("on") and "alert" in text) or text.startswith("javascript:"):
                self.found.append(f"<{tag} {name}={value}>")

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script and data.strip().startswith("alert"):
            self.found.append(f"<script>{data[:40]}")


def dangers(html: str) -> list[str]:
    """Elements of a page that only a name of ours could have made."""
    watch = _Watch()
    plotly = html.find(PLOTLY)
    if plotly >= 0:  # millions of characters that are not ours
        html = html[:plotly] + html[html.index("</script>", plotly) :]
    watch.feed(html)
    watch.close()
    return watch.found
