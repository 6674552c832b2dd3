"""The debugger's view without a browser: its state, its messages, and in a terminal."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.debugger.running import LIMIT_S, Running
from tfnb.client.debugger.debugger import Debugger
from tfnb.notebook.kernel.control_shell import control_shell_id
from tfnb.notebook.pictures.stop_view import MAX_NODES, stop_view
from tfnb.notebook.views.debug import Debug
from tfnb.notebook.views.debug_widget import DebugWidget

if TYPE_CHECKING:
    from collections.abc import Callable


HOSTILE = "<img src=x onerror=alert(1)>"


def _run_stopped(look: Callable[[Debugger, Any], None], node: str = "y") -> Any:
    """Runs a small graph whose node stops; ``look`` gets debugger and stop."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.square(x, name="y")

        def on_stop(stop: Any) -> None:
            look(debugger, stop)
            if debugger.stop is stop and debugger._command is None:
                debugger.resume()

        debugger = Debugger(session, on_stop=on_stop)
        with debugger:
            debugger.break_at(node)
            return session.run(y, {x: [1.0, 2.0]})


class View:
    """A debug view with a widget without a front end."""

    def __init__(self, debugger: Debugger) -> None:
        self.debug = Debug()
        self.debug.debuggers.append(debugger)
        self.debug.widget = self.widget = DebugWidget(None, view="debug")

    def say(self, **content: Any) -> dict[str, Any]:
        """Send a message of the front end; return the new state."""
        self.debug._hear(self.widget, content, [])
        return self.widget._debug


def test_a_stop_is_plain_data_of_bounded_size() -> None:
    """The state is JSON, with values as short texts."""
    seen: list[dict[str, Any]] = []
    _run_stopped(lambda _, stop: seen.append(stop_view(stop)))

    view = json.loads(json.dumps(seen[0]))
    assert view["node"] == "y"
    assert view["phase"] == "before"
    assert view["values"][0]["text"].startswith("[1. 2.]")
    assert view["values"][0]["canChange"]
    assert view["frames"][0]["isHere"]
    assert len(view["nodes"]) <= MAX_NODES


def test_messages_change_values_and_go_on() -> None:
    """The messages are those of the buttons and forms."""
    answers: list[dict[str, Any]] = []

    def look(debugger: Debugger, stop: Any) -> None:
        view = View(debugger)
        tensor = stop.inputs[0][0]
        answers.append(view.say(command="set", tensor=tensor, value="[3.0, 4.0]"))
        answers.append(view.say(command="why", node="y"))
        view.say(command="continue")

    assert _run_stopped(look).tolist() == [9.0, 16.0]
    assert answers[0]["stop"]["values"][0]["text"].startswith("[3. 4.]")
    assert "'y' (Square)" in answers[1]["answer"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"command": "fly"}, "There is no command 'fly'"),
        ({"command": "set", "tensor": "y:0", "value": "__import__('os')"}, "is not a number"),
        ({"command": "set", "tensor": "nowhere:0", "value": "1"}, "no value of 'nowhere:0'"),
        ({"command": "set"}, "tensor"),
        ({"command": "break", "node": "y", "condition": "often"}, "is no condition"),
        ({"command": "break", "node": "y", "iteration": "soon"}, "invalid literal"),
        ({"command": "clear", "number": "99"}, "There is no breakpoint 99"),
        ({"command": "iteration"}, "stands outside of loops"),
        ({"command": "first", "node": HOSTILE}, "is not ready"),
    ],
)
def test_a_message_that_is_wrong_is_answered_and_the_step_stands_still(
    content: dict[str, str], says: str
) -> None:
    """A wrong message does not end the step."""
    answers: list[dict[str, Any]] = []
    result = _run_stopped(lambda debugger, _: answers.append(View(debugger).say(**content)))

    assert says in answers[0]["answer"]
    assert answers[0]["isError"]
    assert result.tolist() == [1.0, 4.0]


@pytest.mark.parametrize(
    "content",
    [None, 7, [], {}, {"command": 3}, {"command": "set", "tensor": "x" * 30_000, "value": "1"}],
)
def test_what_is_no_message_is_passed_over(content: Any) -> None:
    """Other types, and texts beyond the limit, are ignored."""

    def look(debugger: Debugger, _: Any) -> None:
        view = View(debugger)
        view.debug._hear(view.widget, content, [])
        assert view.widget._debug == {}

    assert _run_stopped(look).tolist() == [1.0, 4.0]


def test_sessions_made_inside_the_block_are_debugged(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a terminal commands are typed; the debugger is detached at the end of the block."""
    typed = iter(["print x", "continue"])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    shown: list[str] = []
    monkeypatch.setattr("builtins.print", lambda *words, **_: shown.append(" ".join(words)))
    with Debug(breakpoints=({"node": "y"},)), tf.Graph().as_default(), tf.Session() as session:
        y = tf.square(tf.constant(3.0, name="x"), name="y")
        session.run(y)
        events = session.runtime.step_events
    assert events.debugger is None
    assert "3." in "".join(shown) or not shown


def test_a_terminal_has_no_subshell() -> None:
    """A terminal needs no subshell."""
    assert control_shell_id() is None


def test_a_wrong_condition_is_refused_before_anything_runs() -> None:
    """The error is raised when the block begins."""
    with pytest.raises(ValueError, match="is no condition"):
        Debug(breakpoints=({"condition": "often"},))


def test_what_two_threads_show_is_all_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop that is shown while the publisher sends a picture reaches the front end."""
    sent: list[dict[str, Any]] = []
    widget = DebugWidget(None, view="debug")
    monkeypatch.setattr(widget, "_send", lambda message, buffers=None: sent.append(message))
    ends = threading.Event()

    def publish() -> None:
        while not ends.is_set():
            widget.show(None, bytes([len(sent) % 251]), {"phase": "running"})

    publisher = threading.Thread(target=publish)
    publisher.start()
    try:
        for number in range(300):
            widget.show_debugger({"node": f"n{number}"}, [])
    finally:
        ends.set()
        publisher.join()
    shown = [m["state"]["_debug"]["stop"]["node"] for m in sent if "_debug" in m.get("state", {})]
    assert shown == [f"n{number}" for number in range(300)]


class LateView:
    """The debugger of a tab, which attaches only with a reason."""

    def __init__(self, session: Any) -> None:
        self.debug = Debug(attaches_late=True)
        self.debug.widget = self.widget = DebugWidget(None, view="debug")
        self.events = session.runtime.step_events
        self.debug._join(self.events)

    @property
    def is_attached(self) -> bool:
        """Whether new steps are debugged."""
        return self.events.debugger is not None

    def say(self, **content: Any) -> None:
        """Send a message of the front end."""
        self.debug._hear(self.widget, content, [])


def test_a_tabs_debugger_attaches_while_there_is_a_breakpoint_or_a_pause() -> None:
    """After a detachment by hand it stays detached until the next request."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.square(tf.constant(3.0), name="y")
        view = LateView(session)
        assert not view.is_attached
        assert view.widget._notice == {}
        view.say(command="break", node="y")
        assert view.is_attached
        assert "node by node" in view.widget._notice["text"]
        view.say(command="detach")
        assert not view.is_attached
        assert view.widget._notice["command"] == "attach"
        view.debug.fit()
        assert not view.is_attached
        view.say(command="attach")
        assert view.is_attached
        view.say(command="clear", number="1")
        assert not view.is_attached
        view.say(command="pause")
        assert view.is_attached
        view.say(command="detach")
        assert not view.is_attached


def test_a_step_is_debugged_to_its_end_after_a_command_that_goes_on() -> None:
    """Step and Iteration keep the debugger attached; Continue without breakpoints detaches it."""
    stops: list[str] = []
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.square(tf.negative(x), name="y")
        view = LateView(session)
        debugger = view.debug.debuggers[0]
        hears = debugger._on_stop
        assert hears is not None

        def stopped(stop: Any) -> None:
            hears(stop)
            stops.append(stop.node)
            view.say(command="step" if len(stops) < 3 else "continue")

        debugger._on_stop = stopped
        view.say(command="pause")
        assert session.run(y, {x: 3.0}) == 9.0
        assert len(stops) == 3
        assert not view.is_attached


def test_debuggers_of_two_tabs_take_turns() -> None:
    """A session has one debugger; the other one attaches when the first has left."""
    with tf.Graph().as_default(), tf.Session() as session:
        one, other = LateView(session), LateView(session)
        one.say(command="break", node="y")
        other.say(command="break", node="y")
        assert one.events.debugger is one.debug.debuggers[0]
        one.say(command="clear", number="1")
        other.debug.fit()
        assert one.events.debugger is other.debug.debuggers[0]


def test_a_breakpoint_is_set_in_every_session() -> None:
    """The breakpoint applies to all sessions, also to later ones."""
    with tf.Graph().as_default(), tf.Session() as session, tf.Session() as other:
        view = LateView(session)
        view.debug._join(other._session.step_events)
        view.say(command="break", node="y", condition="max > 3")
        view.say(command="break", node="z")
        view.say(command="clear", number="1")
        with tf.Session() as third:
            view.debug._join(third._session.step_events)
            assert [[str(one) for one in each.breakpoints] for each in view.debug.debuggers] == [
                ["node z"]
            ] * 3
            assert [one["number"] for one in view.widget._debug["breakpoints"]] == [2]
            view.say(command="clear", number="2")
            assert not any(each.breakpoints for each in view.debug.debuggers)
        assert not view.is_attached


@pytest.mark.parametrize("has_breakpoint", [True, False])
@pytest.mark.parametrize("num_devices", [1, 2])
def test_pause_holds_the_running_step_and_continue_lets_it_go(
    has_breakpoint: bool, num_devices: int
) -> None:
    """A step that began without the debugger can only be held, not inspected."""
    runs, may_go = threading.Event(), threading.Event()

    def wait(i: Any) -> Any:
        runs.set()
        assert may_go.wait(LIMIT_S)
        return np.int32(i + 1)

    def body(i: Any, v: Any) -> Any:
        with tf.device(f"/cpu:{num_devices - 1}"):
            v = tf.multiply(v, 2.0)
        return tf.ensure_shape(tf.py_func(wait, [i], tf.int32), []), v

    config = tf.ConfigProto(device_count={"CPU": num_devices})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        found = tf.while_loop(lambda i, _: i < 5, body, [0, 1.0])[1]
        view = LateView(session)
        if has_breakpoint:
            view.say(command="break", node="nowhere")
        debugger = view.debug.debuggers[0]
        is_shown, hears = threading.Event(), debugger._on_stop
        assert hears is not None
        debugger._on_stop = lambda stop: (hears(stop), is_shown.set())
        running = Running(session, found)
        assert runs.wait(LIMIT_S)
        (step,) = session._session.active_steps()
        view.debug.fit()
        assert view.widget._debug["isUndriven"] is not has_breakpoint
        view.say(command="pause")
        may_go.set()
        if has_breakpoint:
            stop = debugger.wait_for_stop(LIMIT_S)
            assert stop is not None
            assert stop.step_id == step.step_id
            assert is_shown.wait(LIMIT_S)
            assert view.widget._debug["stop"]["reason"] == "paused"
        else:
            assert step.is_held
        view.say(command="continue")
        running.join()
    assert running.result == 32.0
