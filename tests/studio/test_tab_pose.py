"""The tab Pose without a browser: which sliders follow the pose."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.studio.cases import ROBOT

import deltadyn as dd
from deltadyn.studio.pose import PoseTab
from deltadyn.studio.session import Session


def slider(value: float) -> Any:
    return SimpleNamespace(value=value, step=1.0, min=-1000.0, max=1000.0)


def test_a_held_slider_stays_where_the_user_has_it() -> None:
    """The page may be some steps ahead of the pose that is shown: it is not set back."""
    session = Session(dd.load_robot(ROBOT), 5.0)
    gui = SimpleNamespace(add_html=lambda _: SimpleNamespace(content=""))
    window: Any = SimpleNamespace(session=session, client=SimpleNamespace(gui=gui))
    tab = PoseTab(window, None)
    tab._platform = [slider(5.0), slider(7.0), slider(0.0)]
    tab.refresh(held=tab._platform[0])
    x, y, z = (1e3 * value for value in session.pose.p)
    assert [item.value for item in tab._platform] == [5.0, y, pytest.approx(z)]
    tab.refresh()
    assert tab._platform[0].value == pytest.approx(x)
    assert x != 5.0
