"""``%load_ext``, ``%unload_ext`` and ``%reload_ext``: everything installed can be removed."""

from __future__ import annotations

import logging
from typing import Any

from tfnb.client.session.session import BaseSession, InteractiveSession
from tfnb.framework.default_session import get_default_session
from tfnb.notebook.completion import make_matcher
from tfnb.notebook.error_view import ErrorView
from tfnb.notebook.kernel.cells import CellRegistrar
from tfnb.notebook.kernel.graph_growth import GraphGrowth
from tfnb.notebook.kernel.shell import is_notebook
from tfnb.notebook.magics import TfnbMagics, without_empty_body
from tfnb.notebook.scenes.attr_text import cut_middle, device_label, one_line
from tfnb.notebook.views.formatters import Formatters
from tfnb.ops.io import logging_ops

_MAX_NAME = 60

_log = logging.getLogger("tfnb")


class Extension:
    """The parts of tfnb that are installed in one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.session: InteractiveSession | None = None
        self._cells = CellRegistrar(shell)
        self.magics = TfnbMagics(shell, self._cells)
        self.growth = GraphGrowth(shell, lambda: bool(self.magics.shows_growth))
        self.magics.growth = self.growth
        self._formatters = Formatters(shell)
        self._lab: Any = None
        self.errors = ErrorView(shell, lambda: bool(self.magics.folds_errors))
        self.magics.errors = self.errors
        self._matcher = make_matcher(self.magics)

    def load(self) -> None:
        """Open the session and install magics, displays, completion and the cell register."""
        self._cells.install()
        self.growth.install()
        self._formatters.install()
        logging_ops.tag_of_line = self._tag_of_line
        self.errors.install()
        self.shell.register_magics(self.magics)
        self.shell.Completer.custom_matchers.append(self._matcher)
        self.shell.input_transformers_cleanup.append(without_empty_body)
        if is_notebook(self.shell):
            self._lab = _lab_comm()
            if warning := _warning_of_kernel():
                print(warning)
        current = get_default_session()
        if isinstance(current, BaseSession) and not current.is_closed:
            print(f"tfnb uses the session that is open, on {_devices(current)}.")
            return
        self.session = InteractiveSession()
        print(f"tfnb opened an interactive session on {_devices(self.session)}.")

    def unload(self) -> None:
        """Close the session, if it was opened here, and remove everything."""
        if self._lab is not None:
            self._lab.stop()
            self._lab = None
        transformers = self.shell.input_transformers_cleanup
        if without_empty_body in transformers:
            transformers.remove(without_empty_body)
        matchers = self.shell.Completer.custom_matchers
        if self._matcher in matchers:
            matchers.remove(self._matcher)
        for kind in ("line", "cell"):
            self.shell.magics_manager.magics[kind].pop("tfnb", None)
        self.errors.remove()
        if logging_ops.tag_of_line == self._tag_of_line:
            logging_ops.tag_of_line = None
        self._formatters.remove()
        self.growth.remove()
        self._cells.remove()
        if self.session is not None:
            self.session.close()
            self.session = None

    def _tag_of_line(self, node: str, iteration: int) -> str:
        if not self.magics.tags_prints:
            return ""
        place = f", iteration {iteration}" if iteration >= 0 else ""
        return f"[{one_line(cut_middle(node, _MAX_NAME))}{place}] "


def _warning_of_kernel() -> str:
    """Return a warning for users of this kernel; "" for most kernels."""
    try:
        import ipykernel
    except ImportError:  # not Jupyter's usual kernel
        return ""
    version_info = getattr(ipykernel, "version_info", ())
    if not (7, 1) <= tuple(version_info[:2]) < (7, 4):
        return ""
    number = ".".join(str(part) for part in version_info[:3])
    return (
        f"ipykernel {number} loses messages, and buttons of views then do nothing: "
        "pip install --upgrade 'ipykernel>=7.4', and restart the kernel."
    )


def _devices(session: BaseSession) -> str:
    names = [device_label(device.name) for device in session.list_devices()]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _lab_comm() -> Any:
    """Return the comm for JupyterLab's panel in this kernel; None in a kernel without comms."""
    from tfnb.notebook.lab.lab_link import LabComm

    try:
        found = LabComm()
        found.start()
    except Exception:
        # A notebook works without the panel, so that errors in other kinds of kernels are only
        # logged.
        _log.debug("JupyterLab's panel is not served.", exc_info=True)
        return None
    return found


_loaded: dict[int, Extension] = {}


def load_ipython_extension(shell: Any) -> None:
    """Install tfnb in a shell; a second call changes nothing."""
    if id(shell) in _loaded:
        return
    extension = Extension(shell)
    _loaded[id(shell)] = extension
    extension.load()


def unload_ipython_extension(shell: Any) -> None:
    """Remove tfnb from a shell."""
    extension = _loaded.pop(id(shell), None)
    if extension is not None:
        extension.unload()


def extension_of(shell: Any) -> Extension | None:
    """Return the extension of a shell, or None if it was not loaded there."""
    return _loaded.get(id(shell))
