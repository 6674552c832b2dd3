"""The kernel's end of JupyterLab's panel: its messages, and which messages it rejects."""

from __future__ import annotations

import gc
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tfnb.client.debugger.run_difference import recent_runs, record_values
from tfnb.notebook.lab import lab_link
from tfnb.notebook.lab.lab_link import LEASE_S, LabLink, renderer_hash
from tfnb.notebook.lab.lab_snapshot import (
    MAX_RESOURCES,
    MAX_SIGNATURES,
    LabSnapshots,
    find_session,
    session_key,
)
from tfnb.notebook.steps.view_group import view_group
from tfnb.notebook.views.compare import latest_comparison
from tfnb.notebook.views.debug import Debug

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = "img_src_x_onerror" * 40


class Page:
    """A front end with its own clock that records its messages."""

    def __init__(self) -> None:
        self.now = 0.0
        self.told: list[dict[str, Any]] = []
        self.buffers: list[list[Any]] = []
        self.link = LabLink(self._tell, clock=lambda: self.now)

    def _tell(self, content: dict[str, Any], buffers: list[Any]) -> None:
        json.dumps(content)
        self.told.append(content)
        self.buffers.append(buffers)

    def ask(self, request: str, **words: Any) -> list[dict[str, Any]]:
        """Run the worker's part at once; return the answers."""
        self.told.clear()
        self.buffers.clear()
        self.link.carry_out({"request": request, **words})
        return list(self.told)

    def say(self, content: Any, buffers: Any = ()) -> list[dict[str, Any]]:
        """Receive a message."""
        self.told.clear()
        self.now += 1.0
        self.link.hear(content, buffers)
        return list(self.told)


@pytest.fixture
def page(shell: Any) -> Iterator[Page]:
    """A page on this process, whose shell acts like a kernel's."""
    shell.kernel = object()
    found = Page()
    yield found
    found.link.stop()
    del shell.kernel


@pytest.fixture
def session(graph: Any) -> Iterator[Any]:
    """A session that has run a step and holds resources."""
    with tf.Session() as found:
        x = tf.placeholder(tf.float32, [None], name="x")
        kept = tf.get_variable("kept", [3, 2])
        tf.get_variable("empty", [3])
        jobs = tf.FIFOQueue(5, tf.float32, shapes=[[]], name="jobs")
        found.run([kept.initializer, jobs.enqueue(1.0)])
        found.run(tf.square(x, name="y"), {x: [1.0]})
        yield found


def test_a_snapshot_tells_of_sessions_executors_devices_and_containers(
    page: Page, session: Any
) -> None:
    """The snapshot is plain data."""
    told = page.ask("watch")[0]
    assert told["kind"] == "snapshot"
    about = next(one for one in told["sessions"] if one["key"] == session_key(session))
    assert about["nodes"] == len(session.graph.get_operations())
    assert about["lastStep"] == session.runtime.last_run()[0] > 0
    assert about["lastSignature"] == about["signatures"][0]["id"]
    assert about["running"] == []
    newest = about["signatures"][0]
    assert (newest["feeds"], newest["fetches"]) == (["x:0"], ["y:0"])
    assert newest["devices"] == ["CPU:0"]
    device = about["devices"][0]
    assert device["used"] == device["held"] == 24
    rows = {one["name"]: one["text"] for one in device["resources"]}
    assert rows["kept"] == "float32 (3, 2)"
    assert "1 element of 5" in rows.values()


def test_only_changes_are_sent_and_only_during_a_lease(page: Page, session: Any) -> None:
    """Only changes are sent, and a lease that is not renewed ends."""
    assert page.ask("look") == []
    page.ask("watch")
    assert page.ask("look") == []
    session.run("y:0", {"x:0": [2.0]})
    assert page.ask("look")[0]["sessions"]
    session.run("y:0", {"x:0": [2.0]})
    page.now += LEASE_S + 1
    assert page.ask("look") == []


def test_lists_and_names_are_bounded(page: Page, graph: Any) -> None:
    """Hundreds of signatures and variables, and long names, are cut."""
    with tf.Session() as session:
        made = [tf.get_variable(f"{HOSTILE}{number}", []) for number in range(MAX_RESOURCES + 20)]
        for variable in made[1 : MAX_SIGNATURES + 20]:
            session.run(variable.initializer)
        session.run([made[0].initializer, *(v.initializer for v in made[MAX_SIGNATURES + 20 :])])
        told = page.ask("watch")[0]
        about = next(one for one in told["sessions"] if one["key"] == session_key(session))
    assert len(about["signatures"]) == MAX_SIGNATURES
    assert about["moreSignatures"] == 20
    device = about["devices"][0]
    assert len(device["resources"]) == MAX_RESOURCES
    assert device["moreResources"] == 20
    assert len(json.dumps(told)) < 100_000


class Running:
    """An endless loop in a thread."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.runtime = session.runtime
        loop = tf.while_loop(lambda k: k >= 0, lambda k: (k + 1) % 9, [0], name="endless")
        self.errors: list[BaseException] = []
        self.thread = threading.Thread(target=self._run, args=(loop,))
        self.thread.start()
        while not self.runtime.active_steps():
            assert self.thread.is_alive()

    def _run(self, loop: Any) -> None:
        try:
            self.session.run(loop)
        except BaseException as error:
            self.errors.append(error)


def test_a_running_step_is_told_held_let_go_and_cancelled(page: Page, session: Any) -> None:
    """Messages control the step while it runs in another thread."""
    running = Running(session)
    key = session_key(session)
    about = next(one for one in page.ask("watch")[0]["sessions"] if one["key"] == key)
    step = about["running"][0]
    assert not step["isHeld"]
    assert page.say({"request": "pause", "session": key}) == []
    assert running.runtime.active_steps()[0].is_held
    about = next(one for one in page.ask("look")[0]["sessions"] if one["key"] == key)
    assert about["isHeld"]
    assert about["running"][0]["isHeld"]
    page.say({"request": "resume", "session": key})
    assert not running.runtime.active_steps()[0].is_held
    page.say({"request": "cancel", "session": key, "step": step["step"] + 1000})
    assert running.runtime.active_steps()[0].error is None
    page.say({"request": "cancel", "session": key, "step": step["step"]})
    running.thread.join(60)
    assert isinstance(running.errors[0], tf.errors.CancelledError)
    assert "cancelled in JupyterLab" in str(running.errors[0])


@pytest.mark.parametrize(
    "content",
    [
        None,
        7,
        [],
        "watch",
        {},
        {"request": 7},
        {"request": "watch", "session": "x" * 70_000},
        {"request": "watch", "more": object()},
    ],
    ids=["nothing", "number", "list", "text", "empty", "no name", "large", "no JSON"],
)
def test_what_is_no_message_is_dropped(page: Page, content: Any) -> None:
    """Malformed messages get no answer and start no worker."""
    assert page.say(content) == []
    assert page.link._worker is None


def test_buffers_are_none_of_ours(page: Page) -> None:
    """Messages with buffers are ignored."""
    assert page.say({"request": "pause", "session": ""}, [b"x"]) == []


def test_a_flood_is_cut_off_and_forgotten(page: Page) -> None:
    """Too many messages are dropped; later ones are accepted again."""
    page.now += 100
    told = []
    for _ in range(500):
        page.now -= 1.0  # as `say` takes a second
        told += page.say({"request": "pause", "session": "none"})
    assert 0 < len(told) < 200
    page.now += 10
    assert len(page.say({"request": "pause", "session": "none"})) == 1


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"request": "dance"}, "no request 'dance'"),
        ({"request": "open", "view": "map"}, "no view 'map'"),
        ({"request": "open", "view": "graph", "session": "direct_0"}, "session is closed"),
        ({"request": "open", "view": "graph", "session": 3}, "is a short text"),
        ({"request": "open", "view": "graph", "session": "x" * 500}, "is a short text"),
        ({"request": "open", "view": "placement", "signature": "1"}, "signature is a number"),
    ],
)
def test_what_cannot_be_done_is_said(page: Page, words: dict[str, Any], match: str) -> None:
    """The error goes to the page with the request."""
    told = page.ask(**words, id="a1") if isinstance(words.get("id", ""), str) else []
    assert [one["kind"] for one in told] == ["problem"]
    assert match in told[0]["text"]
    assert told[0]["id"] == "a1"


def test_steering_a_session_that_is_closed_is_a_problem(page: Page) -> None:
    """A button of a session that has been closed gives an error."""
    told = page.say({"request": "cancel", "session": "direct_0"})
    assert "session is closed" in told[0]["text"]


def test_the_renderer_is_the_widgets_own(page: Page) -> None:
    """The module and the stylesheet are identified by their hash."""
    told = page.ask("renderer")[0]
    assert "export" in told["script"]
    assert ".tfnb" in told["style"]
    greeting = page.ask("hello")[0]
    assert (greeting["kind"], greeting["renderer"]) == ("hello", renderer_hash())


def _opened(page: Page, **words: Any) -> dict[str, Any]:
    told = page.ask("open", id="a1", **words)
    found = [one for one in told if one["kind"] == "opened"]
    assert found, told
    assert found[0]["id"] == "a1"
    return found[0]


@pytest.mark.parametrize("view", ["graph", "placement", "partitions", "progress", "debug", "run"])
def test_every_view_opens_with_its_state(page: Page, session: Any, view: str) -> None:
    """A view opens once; a second request finds it open."""
    told = _opened(page, view=view, session=session_key(session))
    content = told["content"]
    assert content["state"]["_options"]["view"] == view
    assert "_esm" not in content["state"]
    assert ["_scene"] in content["buffer_paths"]
    assert len(page.buffers[-1]) == len(content["buffer_paths"])
    again = _opened(page, view=view, session=session_key(session))
    assert again["view"] == told["view"]
    assert list(page.link.views.titles()) == [told["view"]]
    page.ask("close", view=told["view"])
    page.ask("close", view=told["view"])
    assert page.link.views.titles() == {}


def test_a_signature_is_chosen_by_its_number(page: Page, session: Any) -> None:
    """Any signature can be opened, not only the last one."""
    key = session_key(session)
    about = next(one for one in page.ask("watch")[0]["sessions"] if one["key"] == key)
    first, last = about["signatures"][-1], about["signatures"][0]
    one = _opened(page, view="placement", session=key, signature=first["id"])
    other = _opened(page, view="placement", session=key, signature=last["id"])
    assert one["view"] != other["view"]
    assert other["title"] == "Placement of y:0"


def test_a_graph_that_grows_is_sent_anew(page: Page, session: Any) -> None:
    """The open tab is updated without a click."""
    page.ask("watch")
    told = _opened(page, view="graph", session=session_key(session))
    page.ask("look")
    assert [one for one in page.told if one["kind"] == "view"] == []
    tf.constant(1.0, name="late")
    page.ask("look")
    news = [one for one in page.told if one["kind"] == "view"]
    assert news
    assert news[0]["view"] == told["view"]
    assert ["_scene"] in news[0]["content"]["buffer_paths"]


def test_a_selection_is_taken_over_and_nothing_else(page: Page, session: Any) -> None:
    """A front end may set the selection, but nothing that the kernel draws."""
    name = _opened(page, view="graph", session=session_key(session))["view"]
    state = {"selected": "y", "_options": {"view": "run"}}
    page.say({"request": "view", "view": name, "content": {"method": "update", "state": state}})
    widget = page.link.views._views[name].widget
    assert widget is not None
    assert widget.selected == "y"
    assert widget._options["view"] == "graph"
    for content in (None, 3, {"method": "update"}, {"method": "update", "state": {"selected": 3}}):
        page.say({"request": "view", "view": name, "content": content})
    assert widget.selected == "y"
    assert "closed in the kernel" in page.say({"request": "view", "view": "x"})[0]["text"]


def test_the_next_step_is_recorded(page: Page, session: Any) -> None:
    """Only the next step is recorded."""
    page.ask("watch")
    name = _opened(page, view="run")["view"]
    session.run("y:0", {"x:0": [2.0]})
    page.ask("look")
    widget = page.link.views._views[name].widget
    assert widget is not None
    first = widget._record
    assert first
    session.run("y:0", {"x:0": [2.0]})
    page.ask("look")
    assert widget._record == first
    _opened(page, view="run", anew=True)
    assert page.link.views._views[name].widget._record == b""  # type: ignore[union-attr]


def test_progress_and_debugger_end_with_their_tabs(page: Page, session: Any) -> None:
    """The observer and the debugger are removed."""
    events = session.runtime.step_events
    before = len(events.observers)
    for view in ("progress", "debug"):
        _opened(page, view=view)
    debugger = page.link.views._views["debug"].widget
    assert events.debugger is None  # not before there is a reason
    debugger._handle_custom_msg({"command": "break", "node": "y"}, [])
    assert events.debugger is not None
    assert len(events.observers) > before
    page.ask("close", view="progress")
    page.ask("close", view="debug")
    assert events.debugger is None
    assert len(events.observers) == before


def test_views_end_with_the_lease_of_their_page(page: Page, session: Any) -> None:
    """The lease of a page that was closed without a message ends."""
    page.ask("watch")
    _opened(page, view="progress")
    page.now += LEASE_S + 1
    page.ask("look")
    assert page.link.views.titles() == {}


def test_a_view_that_was_closed_before_the_next_look_is_told_of(page: Page, session: Any) -> None:
    """The snapshot without the view is sent, although the one before had no view either."""
    page.ask("watch")
    _opened(page, view="progress")
    page.link.views.close_all()
    assert [told["views"] for told in page.ask("look")] == [{}]
    assert page.ask("look") == []


def test_sessions_are_found_by_their_keys(session: Any) -> None:
    """A closed session is not found."""
    key = session_key(session)
    assert find_session(key) is session
    session.close()
    assert find_session(key) is None


def test_a_snapshot_is_small_work(page: Page, session: Any) -> None:
    """Each signature is described once."""
    snapshots = LabSnapshots()
    one, two = snapshots.take(), snapshots.take()
    about = [next(s for s in t["sessions"] if s["nodes"]) for t in (one, two)]
    assert about[0]["signatures"][0] is about[1]["signatures"][0]


def test_passes_of_a_signature_open(page: Page, session: Any) -> None:
    """Passes without changes give a message."""
    session.run(tf.add(tf.constant([1.0]), tf.constant([2.0]), name="folded"))
    told = _opened(page, view="passes", session=session_key(session))
    assert told["title"] == "Passes of folded:0"
    assert told["content"]["state"]["_passes"]["passes"]


def _table(page: Page, name: str) -> dict[str, Any]:
    widget = page.link.views._views[name].widget
    assert widget is not None
    return widget._table


def test_partial_runs_are_followed(page: Page, session: Any) -> None:
    """A run that begins while the tab is open is shown with its progress."""
    page.ask("watch")
    name = _opened(page, view="partial", session=session_key(session))["view"]
    assert _table(page, name)["title"] == "No partial run is in flight."
    page.ask("close", view=name)
    session.partial_run_setup(["y:0"], ["x:0"])
    table = _opened(page, view="partial", session=session_key(session))["content"]["state"][
        "_table"
    ]
    assert [[cell["text"] for cell in row] for row in table["rows"]] == [
        ["x:0", "feed", "○ not fed yet", ""],
        ["y:0", "fetch", "… lacks 1", ""],
    ]
    assert table["rows"][1][3]["links"] == [["x:0", "x"]]
    assert table["group"] == view_group(session.graph)


def test_the_last_two_recorded_runs_are_compared(page: Page, session: Any) -> None:
    """Collected records are not compared."""
    runs = [record_values(session, "y:0", {"x:0": [value]}) for value in (1.0, 2.0)]
    name = _opened(page, view="compare")["view"]
    assert _table(page, name)["note"].startswith("First other value: '")
    runs.append(record_values(session, "y:0", {"x:0": [2.0]}))
    page.ask("watch")
    page.ask("look")
    assert latest_comparison()[0]["title"] == "The runs are the same"
    del runs[1:]
    gc.collect()
    assert recent_runs() == []
    assert latest_comparison()[0]["title"] == "The runs are the same"


def test_a_loop_of_steps_has_a_pace(session: Any) -> None:
    """The pace includes only the time while the loop runs."""
    snapshots, now_ns, key = LabSnapshots(), 0, session_key(session)

    def pace(steps: int, ms: int) -> float:
        nonlocal now_ns
        now_ns += ms * 1_000_000
        for _ in range(steps):
            session.run("y:0", {"x:0": [1.0]})
        told = next(one for one in snapshots.take(now_ns)["sessions"] if one["key"] == key)
        return told["stepsPerSecond"]

    assert [pace(0, 250), pace(0, 60_000), pace(1, 250), pace(1, 250)] == [0.0] * 4
    pace(0, 2_000), pace(0, 60_000)
    assert [pace(5, 250), pace(5, 250), pace(5, 250)] == [20.0] * 3
    assert [pace(0, 250), pace(0, 250)] == [20.0] * 2
    assert pace(0, 2_000) == 0.0
    assert [pace(1, 2_000) for _ in range(8)][4:] == [0.5] * 4


def test_the_debuggers_tab_shows_that_of_the_cell_that_runs(page: Page, session: Any) -> None:
    """Afterwards the tab has its own debugger with its breakpoints again."""
    page.ask("watch")
    _opened(page, view="debug")
    own = page.link.views._views["debug"].widget
    own._handle_custom_msg({"command": "break", "node": "nowhere"}, [])
    events = session.runtime.step_events
    with Debug(stop_at_start=True) as of_cell:
        assert events.debugger in of_cell.debuggers
        page.ask("look")
        assert "debug" not in page.link.views.titles()
        _opened(page, view="debug")
        mirror = page.link.views._views["debug"].widget
        of_cell.widget.show_answer("seen in both")
        assert mirror._debug["answer"] == "seen in both"
        mirror._handle_custom_msg({"command": "break", "node": "y"}, [])
        assert [one["text"] for one in of_cell.widget._debug["breakpoints"]] == ["node y"]
    page.ask("look")
    assert "debug" not in page.link.views.titles()
    _opened(page, view="debug")
    again = page.link.views._views["debug"].widget
    assert [one["text"] for one in again._debug["breakpoints"]] == ["node nowhere"]
    assert events.debugger is not None
    page.ask("close", view="debug")
    assert events.debugger is None


def test_a_debugger_that_is_closed_lets_the_step_go_that_stands(page: Page, session: Any) -> None:
    """To its end: the breakpoint in the next iteration does not stop it again."""
    loop = tf.while_loop(lambda i: i < 5, lambda i: tf.add(i, 1, name="next"), [0], name="loop")
    page.ask("watch")
    _opened(page, view="debug")
    debugger = page.link.views._views["debug"].widget
    session.run(loop)
    debugger._handle_custom_msg({"command": "break", "node": "loop/next"}, [])
    stands = threading.Event()
    debugger.observe(lambda change: change.new.get("stop") and stands.set(), "_debug")
    runner = threading.Thread(target=session.run, args=(loop,), daemon=True)
    runner.start()
    assert stands.wait(60.0)
    page.ask("close", view="debug")
    runner.join(60.0)
    assert not runner.is_alive()
    assert session.runtime.step_events.debugger is None


def test_a_worker_that_is_stuck_does_not_hold_up_the_end(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests that wait are dropped; messages that come later, too."""
    go_on = threading.Event()
    monkeypatch.setattr(lab_link, "_JOIN_TIMEOUT_S", 0.01)
    monkeypatch.setattr(page.link, "carry_out", lambda _: go_on.wait(1000))
    for _ in range(300):
        page.say({"request": "hello"})
    assert page.told[-1]["text"] == "Too much was asked at once."
    end = threading.Thread(target=page.link.stop, daemon=True)
    end.start()
    end.join(100)
    assert not end.is_alive()
    assert page.say({"request": "pause", "session": "none"}) == []
    go_on.set()
