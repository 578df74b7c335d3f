"""Controls that viser does not have: tables of choices, trees, plots that tell what a user does.

The page writes what was chosen, as JSON, into a text field of viser that nobody sees; viser brings
it to Python like any other field. So nothing but viser's own connection is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import viser

    from deltadyn.studio.server import Window

#: What the page needs once. A number that counts makes every text differ from the one before:
#: the page tells a field's new text only where it is another one.
PAGE_SCRIPT = """
window.deltadynSend = (field, value) => {
  const label = document.querySelector(`label[for="${field}"]`);
  if (!label) return;
  let box = label;
  while (!box.querySelector('input')) box = box.parentElement;
  const input = box.querySelector('input');
  window.deltadynCount = (window.deltadynCount || 0) + 1;
  const text = JSON.stringify({...value, count: window.deltadynCount});
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, text);
  input.dispatchEvent(new Event('input', {bubbles: true}));
};
window.deltadynForm = (form, field) => {
  const values = {};
  for (const control of form.querySelectorAll('[name]'))
    values[control.name] = control.type === 'checkbox' ? control.checked : control.value;
  window.deltadynSend(field, {values});
};
"""

Values = Mapping[str, Any]


def run_script(client: viser.ClientHandle, source: str) -> None:
    """Run JavaScript in the page of one client; viser has no call for it."""
    from viser import _messages

    client.gui._websock_interface.queue_message(_messages.RunJavascriptMessage(source=source))


class Mailbox:
    """A hidden text field: `act` hears, as a dictionary, what the page sends to it."""

    def __init__(self, window: Window, act: Callable[[Values], None]) -> None:
        gui: Any = window.client.gui
        self._act = act
        self._text = gui.add_text("(what the page tells)", "")
        self._text.on_update(window.guarded(self._read))
        self.field = str(self._text._impl.uuid)
        rule = f'div:has(> div > div > * > label[for="{self.field}"]) {{ display: none }}'
        source = "const look = document.createElement('style'); look.textContent = "
        run_script(window.client, f"{source}{json.dumps(rule)}; document.head.append(look);")

    def _read(self, _event: Any) -> None:
        self._act(json.loads(self._text.value))


class Form:
    """Controls of HTML, each with a `name`; `act` hears the values of all when one changes."""

    def __init__(self, window: Window, act: Callable[[Values], None]) -> None:
        self._mailbox = Mailbox(window, lambda told: act(told["values"]))
        self._html: Any = window.client.gui.add_html("")

    def show(self, html: str) -> None:
        """Put other controls there; an empty text takes them away."""
        act = escape(f"deltadynForm(this, {json.dumps(self._mailbox.field)})")
        self._html.content = f'<div onchange="{act}">{html}</div>' if html else ""


_CONTROL = (
    "font:inherit;padding:1px 2px;border:1px solid #c4c9d0;border-radius:3px;background:#fff;"
    "color:#1c2330;width:100%;min-width:0;max-width:{width};box-sizing:border-box"
)


MARK = "\N{BLACK STAR} "  # before what was guessed


def choice(
    name: str,
    options: Iterable[tuple[str, str]],
    value: str,
    *,
    label: str,
    guess: str | None = None,
) -> str:
    """A list to choose from: pairs of value and text; that of the `guess` is marked.

    The frame is orange where another one is chosen.
    """
    rows = "".join(
        f'<option value="{escape(key)}"{" selected" * (key == value)}>'
        f"{MARK * (key == guess)}{escape(text)}</option>"
        for key, text in options
    )
    other = guess is not None and value != guess
    return (
        f'<select name="{escape(name)}" aria-label="{escape(label)}" '
        f'style="{_CONTROL.format(width="9em")}{_changed(other)}">{rows}</select>'
    )


def number(name: str, value: float | None, *, label: str, changed: bool = False) -> str:
    """A field for a number; empty where there is none."""
    shown = "" if value is None else f"{value:.10g}"
    return (
        f'<input name="{escape(name)}" type="number" step="any" value="{shown}" '
        f'aria-label="{escape(label)}" style="{_CONTROL.format(width="5em")}{_changed(changed)}">'
    )


def tick(name: str, value: bool, text: str) -> str:
    """A box to tick with its text."""
    look = "vertical-align:middle;margin:0 0.3em 0 0"
    return (
        '<label style="display:inline-block;margin:1px 0 1px 1.2em;cursor:pointer">'
        f'<input type="checkbox" name="{escape(name)}"{" checked" * value} style="{look}">'
        f"{escape(text)}</label>"
    )


def branch(title: str, inside: str, *, opened: bool) -> str:
    """A part of a tree that opens and closes."""
    return (
        f'<details{" open" * opened} style="margin:2px 8px;font-size:0.85em">'
        f'<summary style="cursor:pointer">{escape(title)}</summary>{inside}</details>'
    )


def _changed(changed: bool) -> str:
    return ";border-color:#c2540a;box-shadow:0 0 0 1px #c2540a" if changed else ""
