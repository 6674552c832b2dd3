"""A shell of its own for every test that needs one, and a fresh default graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def graph() -> Iterator[Any]:
    """A graph that is the default one during the test."""
    with tf.Graph().as_default() as fresh:
        yield fresh


@pytest.fixture
def shell(graph: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An IPython in this process, as in a terminal: it keeps no history file and no colours."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    found = InteractiveShell.instance(config=config)
    yield found
    found.run_line_magic("unload_ext", "tfnb")
    InteractiveShell.clear_instance()


@pytest.fixture
def loaded(shell: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    """A shell with `%load_ext tfnb` behind it."""
    shell.run_cell("%load_ext tfnb", store_history=True)
    shell.run_cell("import tfnb as tf", store_history=True)
    capsys.readouterr()
    return shell
