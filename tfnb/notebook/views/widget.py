"""The widget of every interactive view: a scene and its states."""

from __future__ import annotations

import base64
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets
from IPython.display import publish_display_data

from tfnb.core.files.file_access import write_whole
from tfnb.notebook.kernel.shell import show
from tfnb.notebook.scenes.scene_text import scene_text
from tfnb.notebook.views.record_html import record_traits
from tfnb.notebook.views.widget_page import STATIC, widget_page

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from tfnb.notebook.scenes.scene import Scene
    from tfnb.notebook.steps.run_record import RunRecord

_PNG = b"\x89PNG\r\n\x1a\n"
_MOST_PICTURE = 60_000_000  # characters of base64


_given_comm: ContextVar[Any] = ContextVar("tfnb_given_comm", default=None)


@contextmanager
def talking_over(comm: Any) -> Iterator[None]:
    """Make widgets inside the block use an existing comm, instead of opening their own."""
    token = _given_comm.set(comm)
    try:
        yield
    finally:
        _given_comm.reset(token)


@cache
def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


class SceneWidget(anywidget.AnyWidget):
    """Shows a scene; ``selected`` is the name of the node selected in the browser.

    All data is sent over the notebook's own connection: no server, no port.
    """

    _esm = _static("tfnb.js")
    _css = _static("tfnb.css")

    _scene = traitlets.Bytes(b"").tag(sync=True)
    _states = traitlets.Bytes(b"").tag(sync=True)
    _record = traitlets.Bytes(b"").tag(sync=True)
    _lanes = traitlets.Bytes(b"").tag(sync=True)
    _passes = traitlets.Dict().tag(sync=True)
    _table = traitlets.Dict().tag(sync=True)
    _counters = traitlets.Dict().tag(sync=True)
    # The effect of the view on steps, and a button that ends it: text, label, command.
    _notice = traitlets.Dict().tag(sync=True)
    _curves = traitlets.Dict().tag(sync=True)
    _options = traitlets.Dict().tag(sync=True)
    # The user's choices in the browser: open scopes, colours, the direction of the data flow.
    _look = traitlets.Dict().tag(sync=True)
    selected = traitlets.Unicode("", help="The name of the selected node, or empty.").tag(sync=True)

    def __init__(
        self,
        scene: Scene | None,
        *,
        view: str = "graph",
        colour_by: str = "kind",
        height: int = 420,
        selected: str = "",
        record: RunRecord | None = None,
        group: str = "",
        picture: Callable[[], str] | None = None,
    ) -> None:
        self.scene = scene
        self._picture = picture
        self._text = ""
        self._pictures: list[Path] = []  # files that wait for the browser
        # The publisher, the thread that runs steps and messages of the front end change traits at
        # any time; a change while another thread leaves `hold_sync` would never be sent.
        self.changing = threading.RLock()
        # Widgets of other pages that show the same.
        self.mirrors: list[SceneWidget] = []
        traits = {
            "_scene": b"" if scene is None else scene.encode(),
            "_options": {"view": view, "colourBy": colour_by, "height": height, "group": group},
        }
        if record is not None:
            traits = record_traits(record, height)
        super().__init__(comm=_given_comm.get(), **traits, selected=selected)

    @property
    def view(self) -> str:
        """The kind of view: ``graph``, ``progress``, ``run``, ..."""
        return str(self._options["view"])

    def show(
        self, scene: Scene | None, states: bytes, counters: dict[str, Any] | None = None
    ) -> None:
        """Send a new scene (if any), the states of its nodes and the counters as one message."""
        with self.changing, self.hold_sync():
            if scene is not None:
                self.scene = scene
                self._scene = scene.encode()
            self._states = states
            if counters is not None:
                self._counters = counters
        for mirror in list(self.mirrors):
            mirror.show(scene, states, counters)

    @property
    def moment(self) -> tuple[Scene | None, bytes, dict[str, Any]]:
        """The scene, the states and the counters on display, as :meth:`show` takes them."""
        return self.scene, self._states, self._counters

    def show_curves(self, curves: dict[str, Any]) -> None:
        """Show curves of scalars (``scalar_curves.py``)."""
        with self.changing:
            self._curves = curves

    def show_record(self, record: RunRecord) -> None:
        """Send another recorded step, with its scene."""
        with self.changing, self.hold_sync():
            self.scene = record.scene
            self._record = record.encode()
            self._lanes = b"" if record.lanes is None else record.lanes.encode()
            self._scene = record.scene.encode()

    def show_notice(self, text: str = "", label: str = "", command: str = "") -> None:
        """Show a line above the view, and a button that sends a command; empty text hides it."""
        with self.changing:
            self._notice = {"text": text, "label": label, "command": command} if text else {}

    def show_passes(self, passes: list[dict[str, Any]], text: str) -> None:
        """Show passes, each with its graph before and after; ``text`` is their text form."""
        self._text = text
        with self.changing:
            self._passes = {"passes": passes}

    def show_table(self, table: dict[str, Any], text: str) -> None:
        """Show a table (``table.py``); ``text`` is its text form."""
        self._text = text
        with self.changing:
            self._table = table

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the view to a file: ``.html`` as a page, ``.png`` as a picture of the screen.

        The browser draws a PNG, so that the file appears a moment later, when the browser has
        answered.

        Raises:
          ValueError: the file's name has another ending.
        """
        file = Path(path)
        if file.suffix == ".png":
            if not self._pictures:
                self.on_msg(self._take_picture)
            self._pictures.append(file)
            self.send({"draw": "png"})
            return
        if file.suffix != ".html":
            raise ValueError(f"'{file.name}' has to end with .html or .png.")
        names = (
            "_scene",
            "_record",
            "_lanes",
            "_states",
            "_passes",
            "_table",
            "_counters",
            "_curves",
        )
        traits = {name: getattr(self, name) for name in (*names, "_options", "_look", "selected")}
        write_whole(str(file), widget_page(traits, self.view).encode())

    def _take_picture(self, widget: Any, content: Any, buffers: Any) -> None:
        """Write the picture that the browser sends; ignore other messages."""
        text = content.get("picture") if isinstance(content, dict) else None
        if not isinstance(text, str) or not self._pictures or len(text) > _MOST_PICTURE:
            return
        try:
            data = base64.b64decode(text, validate=True)
        except ValueError:
            return
        if data.startswith(_PNG):
            write_whole(str(self._pictures.pop(0)), data)

    def get_state(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the traits, all of one moment."""
        with self.changing:
            found: dict[str, Any] = super().get_state(*args, **kwargs)
            return found

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Apply the front end's changes."""
        with self.changing:
            super().set_state(sync_data)

    def __repr__(self) -> str:
        return self._text if self.scene is None else scene_text(self.scene)

    def _ipython_display_(self, **kwargs: Any) -> None:
        """Display the widget, and after it a picture for viewers without widgets.

        They are two outputs: a notebook that is reopened without the widget shows an error in place
        of the first one, even if it has other formats.
        """
        bundle = self._repr_mimebundle_()
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        shown = data or {"text/plain": repr(self)}
        publish_display_data(shown, metadata)  # type: ignore[no-untyped-call]
        if self._picture is not None:
            self.show_picture(self._picture())

    def show_picture(self, svg: str) -> None:
        """Display a picture for front ends without the widget."""
        show({"image/svg+xml": svg, "text/plain": repr(self)}, raw=True)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, with the scene as text for viewers without widgets."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = repr(self)
        return bundle
