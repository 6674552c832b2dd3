"""Views in tabs of JupyterLab: the notebook's widgets over the panel's comm.

A view is identified by its content, so that a reloaded page, or a second page, finds the existing
one.  Live views watch until they are closed, or until no page shows them; a view that pauses a step
stays open, because closing it would resume the step.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

from anywidget import AnyWidget

from tfnb.client.session.session import live_sessions
from tfnb.notebook.lab.lab_snapshot import find_session, session_key, session_title
from tfnb.notebook.scenes.attr_text import cut_middle
from tfnb.notebook.steps.view_group import view_group
from tfnb.notebook.views.compare import latest_comparison
from tfnb.notebook.views.debug import Debug, debug_of_a_cell
from tfnb.notebook.views.partial import partial_table
from tfnb.notebook.views.partitions import partitions_widget
from tfnb.notebook.views.passes import passes_widget
from tfnb.notebook.views.placement import placement_widget
from tfnb.notebook.views.progress import Watch
from tfnb.notebook.views.record import Recording
from tfnb.notebook.views.table import table_widget
from tfnb.notebook.views.targets import (
    SignatureViews,
    TargetError,
    find_signature,
    find_target,
    signatures_of,
)
from tfnb.notebook.views.values import latest_values
from tfnb.notebook.views.widget import SceneWidget, talking_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.client.session.session import BaseSession

MAX_VIEWS = 24
HEIGHT = 560
_TRIES = 4
_OF_ANY_WIDGET = frozenset(
    ("_esm", "_css", "_anywidget_id", *AnyWidget.class_trait_names(sync=True))
)
_MOST_SELECTED = 4_000
_MOST_LOOK = 400_000
# Shortest interval between two drawings of a growing graph; they take only a share of the time.
_REFRESH_S = 1.0
_REFRESH_SHARE = 10.0


class ViewComm:
    """The comm of a widget in a tab: it passes messages on with the name of its view."""

    is_heard_while_running = True

    def __init__(self, view: str, send: Callable[[dict[str, Any], list[Any]], None]) -> None:
        self.comm_id = f"tfnb.lab/{view}"
        self._view = view
        self._tell = send
        self._hear: Callable[[dict[str, Any]], None] | None = None
        self.is_open = False

    def on_msg(self, callback: Callable[[dict[str, Any]], None] | None) -> None:
        """Set the callback for messages of the front end."""
        self._hear = callback

    def handle(self, content: dict[str, Any]) -> None:
        """Pass a message of the front end to the widget."""
        if self._hear is not None:
            self._hear({"content": {"data": content}, "buffers": []})

    def send(self, data: Any = None, metadata: Any = None, buffers: Any = None) -> None:
        """Send a message of the widget; dropped while the view is not open."""
        if self.is_open:
            self._tell({"kind": "view", "view": self._view, "content": data}, buffers or [])

    def close(self) -> None:
        """Mark the widget as closed."""
        self.is_open = False


class _View:
    """A widget in a tab, with its source of data and the function that ends it."""

    def __init__(self, title: str, comm: ViewComm) -> None:
        self.title = title
        self.comm = comm
        self.widget: SceneWidget | None = None
        self.end: Callable[[], None] = lambda: None
        self.refresh: Callable[[], None] | None = None
        self.is_kept: Callable[[], bool] = lambda: False


class LabViews:
    """The views that are open, by name.

    Args:
      tell: sends a message to every front end.
    """

    def __init__(self, tell: Callable[[dict[str, Any], list[Any]], None]) -> None:
        self._tell = tell
        self._views: dict[str, _View] = {}
        self._lock = threading.RLock()  # guards changes of _views
        # The breakpoints of the debugger's tab, while the tab shows a cell's debugger.
        self._breakpoints: tuple[dict[str, Any], ...] = ()

    def titles(self) -> dict[str, str]:
        """Return the open views and their titles."""
        return {name: view.title for name, view in self._views.copy().items()}

    def open(
        self,
        kind: str,
        session: str = "",
        signature: int | None = None,
        *,
        ask: str = "",
        anew: bool = False,
    ) -> str:
        """Open a view, or find it open, and send its state; return its name.

        Args:
          kind: the kind of view; see ``KINDS``.
          session: the key of the session to show.
          signature: the signature to show; by default the one that ran last.
          ask: is sent back with the answer.
          anew: whether a view that is open is made again.

        Raises:
          TargetError: there is no such view or session, or nothing to show yet.
        """
        opener = KINDS.get(kind)
        if opener is None:
            raise TargetError(f"There is no view '{kind[:40]}'; there are {', '.join(KINDS)}.")
        name = kind if opener in _OF_KERNEL else f"{kind}/{session}"
        if signature is not None and opener in _OF_SIGNATURE:
            name += f"/{signature}"
        if anew:
            self.close(name)
        with self._lock:
            view = self._views.get(name)
            if view is None:
                if len(self._views) >= MAX_VIEWS:
                    raise TargetError(f"{MAX_VIEWS} views are open; close one first.")
                view = _View(kind.capitalize(), ViewComm(name, self._tell))
                with talking_over(view.comm):
                    _tried(lambda: opener(self, view, session, signature))
                self._views[name] = view
        assert view.widget is not None
        opened = {"kind": "opened", "id": ask, "view": name, "title": view.title}
        # What changes meanwhile is told after it, not before.
        with view.widget.changing:
            view.comm.is_open = True
            content, buffers = _whole_state(view.widget)
            self._tell({**opened, "content": content}, buffers)
        return name

    def hear(self, name: Any, content: Any) -> None:
        """Handle a message of a view's front end: a changed selection, or a button.

        Raises:
          TargetError: there is no such view.
        """
        view = self._views.get(name) if isinstance(name, str) else None
        if view is None:
            raise TargetError("This view is closed in the kernel.")
        if not isinstance(content, dict):
            return
        if content.get("method") == "custom":
            view.comm.handle({"method": "custom", "content": content.get("content")})
        elif content.get("method") == "update" and isinstance(content.get("state"), dict):
            state = content["state"]
            selected, look = state.get("selected"), state.get("_look")
            taken: dict[str, Any] = {}
            if isinstance(selected, str) and len(selected) <= _MOST_SELECTED:
                taken["selected"] = selected
            if isinstance(look, dict) and len(json.dumps(look)) <= _MOST_LOOK:
                taken["_look"] = look
            if taken:
                view.comm.handle({"method": "update", "state": taken, "buffer_paths": []})

    def refresh(self) -> None:
        """Update views whose graph has grown."""
        for view in list(self._views.values()):
            if view.refresh is not None:
                view.refresh()

    def close(self, name: str) -> None:
        """Close a view; an unknown name is no error."""
        with self._lock:
            view = self._views.pop(name, None)
        if view is not None:
            view.end()
            if view.widget is not None:
                view.widget.close()

    def close_all(self, *, with_kept: bool = False) -> None:
        """Close every view, except one that holds a step."""
        for name, view in self._views.copy().items():
            if with_kept or not view.is_kept():
                self.close(name)

    # -- contents of the views ---------------------------------------------------------------------

    def _graph(self, view: _View, session: str, signature: int | None) -> None:
        found = _session(session)
        graph = found.graph
        scene = find_target(found).scene()
        widget = view.widget = SceneWidget(scene, height=HEIGHT, group=view_group(graph))
        view.title = f"Graph of {session_title(found)}"
        shown = graph.version

        def refresh() -> bool:
            nonlocal shown
            if graph.version == shown or found.is_closed:
                return False
            version = graph.version
            _tried(lambda: widget.show(find_target(found).scene(), b""))
            shown = version
            return True

        view.refresh = _paced(refresh)

    def _partial(self, view: _View, session: str, signature: int | None) -> None:
        found = _session(session)
        view.title = f"Partial runs of {session_title(found)}"
        _follow(view, "partial", lambda: partial_table(found, found.partial_runs()))

    def _values(self, view: _View, session: str, signature: int | None) -> None:
        _follow(view, "values", latest_values)

    def _compare(self, view: _View, session: str, signature: int | None) -> None:
        _follow(view, "compare", latest_comparison)

    def _placement(self, view: _View, session: str, signature: int | None) -> None:
        found = self._signature(session, signature)
        view.widget = placement_widget(found, HEIGHT)
        view.title = f"Placement of {_short(found)}"

    def _partitions(self, view: _View, session: str, signature: int | None) -> None:
        found = self._signature(session, signature)
        view.widget = partitions_widget(found, HEIGHT)
        view.title = f"Partitions of {_short(found)}"

    def _passes(self, view: _View, session: str, signature: int | None) -> None:
        found = self._signature(session, signature)
        view.widget = passes_widget(found, HEIGHT)
        view.title = f"Passes of {_short(found)}"

    def _progress(self, view: _View, session: str, signature: int | None) -> None:
        watch = Watch(
            make_widget=lambda: SceneWidget(None, view="progress", height=HEIGHT),
            keeps_summary=False,
            displays=False,
        )
        watch.__enter__()
        view.widget = watch.widget
        view.end = lambda: watch.__exit__(None, None, None)

    def _debug(self, view: _View, session: str, signature: int | None) -> None:
        view.title = "Debugger"
        of_cell = debug_of_a_cell()
        if of_cell is not None:
            mirror = view.widget = of_cell.mirror(HEIGHT)

            def look() -> None:
                # The tab opens the view again, and then gets its own debugger.
                if debug_of_a_cell() is not of_cell:
                    self.close("debug")

            view.refresh, view.end = look, lambda: of_cell.drop(mirror)
            view.is_kept = lambda: of_cell.stands
            return
        debugged = Debug(
            height=HEIGHT, displays=False, attaches_late=True, breakpoints=self._breakpoints
        )
        debugged.__enter__()
        view.widget = debugged.widget

        def refresh() -> None:
            if debug_of_a_cell() is None or debugged.stands:
                debugged.fit()
                return
            self._breakpoints = debugged.breakpoints
            self.close("debug")

        self._breakpoints = ()
        view.refresh = refresh
        view.end = lambda: debugged.__exit__(None, None, None)
        view.is_kept = lambda: debugged.stands

    def _run(self, view: _View, session: str, signature: int | None) -> None:
        """Record until a step has ended, then show it."""
        widget = view.widget = SceneWidget(None, view="run", height=HEIGHT)
        view.title = "Recorded step"
        recording: Recording | None = None
        says = ""

        def say(text: str, label: str, command: str) -> None:
            nonlocal says
            if text != says:
                says = text
                widget.show_notice(text, label, command)

        def refresh() -> None:
            now = recording
            if now is None:
                return
            record = now.latest()
            if record is not None:
                stop()
                widget.show_record(record)
                return
            runs = any(getattr(one.runtime, "active_steps", list)() for one in live_sessions())
            what = "The step that runs is recorded" if runs else "The next step is recorded"
            say(f"{what}, which takes longer: each node is timed.", "Stop recording", "stop")

        def begin() -> None:
            nonlocal recording
            stop()
            recording = Recording(height=HEIGHT)
            recording.__enter__()
            refresh()

        def stop() -> None:
            nonlocal recording
            stopped, recording = recording, None
            if stopped is not None:
                stopped.stop()
            say("Steps run at full speed: none is recorded.", "Record the next step", "record")

        def hear(_: Any, content: Any, buffers: Any) -> None:
            command = content.get("command") if isinstance(content, dict) else None
            if command == "record":
                begin()
            elif command == "stop":
                stop()

        widget.on_msg(hear)
        begin()
        view.refresh = refresh
        view.end = stop

    def _signature(self, key: str, signature: int | None) -> SignatureViews:
        session = _session(key)
        if signature is None:
            return find_signature(session=session)
        for placed, partitioned in reversed(signatures_of(session)):
            if partitioned is None or placed is None:
                continue
            if signature == partitioned.signature_id:
                return SignatureViews(session, placed, partitioned)
        raise TargetError("This session has no such signature.")


def _follow(view: _View, kind: str, look: Callable[[], tuple[dict[str, Any], str]]) -> None:
    """Show a table, and update it from time to time."""
    widget = view.widget = table_widget(kind, *look())

    def refresh() -> bool:
        _tried(lambda: widget.show_table(*look()))
        return True

    view.refresh = _paced(refresh)


def _paced(refresh: Callable[[], bool]) -> Callable[[], None]:
    """Limit the rate of ``refresh``, which returns whether it had work to do."""
    due = 0.0

    def now_and_then() -> None:
        nonlocal due
        begin = time.monotonic()
        if begin >= due and refresh():
            due = begin + max(_REFRESH_S, (time.monotonic() - begin) * _REFRESH_SHARE)

    return now_and_then


def _session(key: str) -> BaseSession:
    found = find_session(key)
    if found is None:
        raise TargetError("This session is closed.")
    return found


def _short(found: SignatureViews) -> str:
    names = (*found.partitioned.fetches, *found.partitioned.targets)
    return cut_middle(names[0], 40) if names else session_key(found.session)


def _whole_state(widget: SceneWidget) -> tuple[dict[str, Any], list[Any]]:
    """Return the full state of a view as a widget's update; the module travels once per page."""
    state = widget.get_state([name for name in widget.keys if name not in _OF_ANY_WIDGET])
    paths = [[name] for name, value in state.items() if isinstance(value, bytes)]
    buffers = [state.pop(name) for (name,) in paths]
    return {"method": "update", "state": state, "buffer_paths": paths}, buffers


def _tried(make: Callable[[], None]) -> None:
    """Read a graph that a cell may be changing; read again if it changed meanwhile."""
    for left in reversed(range(_TRIES)):
        try:
            make()
        except RuntimeError:
            if not left:
                raise
        else:
            return


KINDS: dict[str, Callable[[LabViews, _View, str, int | None], None]] = {
    "graph": LabViews._graph,
    "placement": LabViews._placement,
    "partitions": LabViews._partitions,
    "passes": LabViews._passes,
    "progress": LabViews._progress,
    "run": LabViews._run,
    "debug": LabViews._debug,
    "partial": LabViews._partial,
    "values": LabViews._values,
    "compare": LabViews._compare,
}
_OF_KERNEL = frozenset(map(KINDS.get, ("progress", "debug", "run", "values", "compare")))
_OF_SIGNATURE = frozenset((LabViews._placement, LabViews._partitions, LabViews._passes))
