"""Models as files, from which a fresh process of either module starts.

A package is a folder with ``graph.pb``, a GraphDef, with ``plan.json``, and with the fed arrays,
one ``.npy`` file each. ``plan.json`` holds steps, ``{"feeds": {tensor: file}, "fetches": [tensor],
"targets": [op]}``: the list ``setup``, the step ``run``, and ``train``, a step or None; ``config``
has fields of the session's ConfigProto.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path


class Writer:
    """Writes one package."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[int, tuple[str, Any]] = {}
        folder.mkdir(parents=True)

    def step(self, feeds: dict[str, Any], fetches: list[str], targets: list[str]) -> dict[str, Any]:
        """Store the arrays of a step and return its description."""
        return {
            "feeds": {name: self._store(value) for name, value in feeds.items()},
            "fetches": fetches,
            "targets": targets,
        }

    def _store(self, value: Any) -> str:
        # The array is kept, so that no other one gets its id.
        name, _ = self._files.setdefault(id(value), (f"{len(self._files)}.npy", value))
        path = self._folder / name
        if not path.exists():
            np.save(path, np.asarray(value), allow_pickle=True)
        return name

    def finish(self, graph_def: Any, plan: dict[str, Any]) -> None:
        """Write graph and plan."""
        (self._folder / "graph.pb").write_bytes(graph_def.SerializeToString())
        (self._folder / "plan.json").write_text(json.dumps(plan))


def plan_of(folder: Path) -> dict[str, Any]:
    """Return the plan of a package."""
    found: dict[str, Any] = json.loads((folder / "plan.json").read_text())
    return found


def feeds_of(folder: Path, step: dict[str, Any], graph: Any) -> dict[Any, Any]:
    """Return the arrays of a step by tensor of the graph."""
    return {
        graph.get_tensor_by_name(name): np.load(folder / file, allow_pickle=True)
        for name, file in step["feeds"].items()
    }


def elements_of(step: dict[str, Any], graph: Any) -> list[Any]:
    """Return the fetches of a step, followed by its targets."""
    return [graph.as_graph_element(name) for name in (*step["fetches"], *step["targets"])]
