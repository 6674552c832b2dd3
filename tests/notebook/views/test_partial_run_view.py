"""The progress of partial runs as data, text and picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import tfnb as tf
from tfnb.common_runtime.session.partial_run import PartialRunState
from tfnb.notebook.pictures.partial_run_svg import partial_run_svg

if TYPE_CHECKING:
    import pytest


def _begun() -> tuple[tf.Session, str, Any, Any, Any]:
    a, b, c = (tf.placeholder(tf.float32, [], name=name) for name in "abc")
    first = tf.add(a, b, name="first")
    second = tf.multiply(first, c, name="second")
    session = tf.Session()
    return session, session.partial_run_setup([first, second], [a, b, c]), (a, b, c), first, second


def test_a_session_tells_which_fetches_are_ready(graph: Any) -> None:
    """Readiness follows from the feeds so far; reading it changes nothing."""
    session, handle, (a, b, c), first, second = _begun()
    with session:
        (state,) = session.partial_runs()
        assert state.feeds == {"a:0": False, "b:0": False, "c:0": False}
        assert {k: set(v) for k, v in state.fetches.items()} == {
            "first:0": {"a:0", "b:0"},
            "second:0": {"a:0", "b:0", "c:0"},
        }
        session.partial_run(handle, [], {a: 1.0, b: 2.0})
        (state,) = session.partial_runs()
        assert state.fetches == {"first:0": (), "second:0": ("c:0",)}
        assert session.partial_run(handle, first) == 3.0
        (state,) = session.partial_runs()
        assert state.handle == handle
        assert str(state) == (
            "2 of 3 feeds given, 1 of 2 fetches taken\n"
            "  a:0: fed\n  b:0: fed\n  c:0: not fed yet\n"
            "  first:0: taken\n  second:0: waits for c:0"
        )
        assert session.partial_run(handle, second, {c: 4.0}) == 12.0
        assert session.partial_runs() == []


def test_a_tensor_that_is_fed_is_where_the_need_ends(graph: Any) -> None:
    """Feeds behind a fed tensor are not missing."""
    session, _, (_, _, c), first, second = _begun()
    with session:
        session.partial_run_setup([second], [first, c])
        state = session.partial_runs()[-1]
        assert {k: set(v) for k, v in state.fetches.items()} == {"second:0": {"first:0", "c:0"}}


def test_the_picture_tells_it_all(graph: Any) -> None:
    """The picture has names, states, and a line for each missing feed."""
    session, handle, (a, b, _), first, _ = _begun()
    with session:
        session.partial_run(handle, first, {a: 1.0, b: 2.0})
        svg = partial_run_svg(session.partial_runs()[0])
    root = ElementTree.fromstring(svg)
    texts = [text for element in root.iter() if (text := element.text) and text.strip()]
    assert {"a:0", "c:0", "first:0", "taken", "second:0", "lacks 1"} <= set(texts)
    assert svg.count("<path") == 1


def test_hostile_and_many_names_stay_in_the_picture() -> None:
    """Hostile names are text, and the height is limited."""
    name = "</text><img src=x onerror=alert(1)>\x1b\u202e" + "n" * 1_000_000
    state = PartialRunState(
        "h",
        {f"{name}{i}": False for i in range(3)} | {f"f{i}": True for i in range(500)},
        {name: (f"{name}0",)},
        (),
    )
    svg = partial_run_svg(state)
    assert "<img" not in svg
    assert len(svg) < 60_000
    assert float(ElementTree.fromstring(svg).attrib["height"]) < 1200


def test_the_magic_shows_those_in_flight(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A terminal shows text; without a partial run there is a message."""
    loaded.run_cell("%tfnb partial")
    assert capsys.readouterr().out == "No partial run is in flight.\n"
    loaded.run_cell(
        "p = tf.placeholder(tf.float32, [], name='p')\n"
        "handle = tf.get_default_session().partial_run_setup([p + 1.0], [p])"
    )
    loaded.run_cell("%tfnb partial")
    assert "  p:0: not fed yet\n  add:0: waits for p:0\n" in capsys.readouterr().out


def test_a_state_is_displayed_as_picture_and_text(loaded: Any) -> None:
    """A cell that ends with the state displays it."""
    state = PartialRunState("h", {"a:0": True}, {"r:0": None}, ())
    data, _ = loaded.display_formatter.format(state)
    assert data["image/svg+xml"].startswith("<svg")
    assert data["text/plain"] == str(state)
