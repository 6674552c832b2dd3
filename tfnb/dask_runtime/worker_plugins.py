"""Plugins that run in Dask's workers: models and servers that live as long as the worker.

The only file that imports Dask as it is imported; others import it on first use.
"""

from __future__ import annotations

import os
import shutil
import threading
from typing import TYPE_CHECKING, Any

from distributed import WorkerPlugin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.client.model import Model
    from tfnb.dask_runtime.sent_models import SentModel


class ModelPlugin(WorkerPlugin):  # type: ignore[misc] # Dask is optional
    """The files of a model in a worker, and the models opened from them.

    Attributes:
      name: the name of the plugin.
    """

    def __init__(self, name: str, contents: Mapping[str, bytes]) -> None:
        """Make a plugin.

        Args:
          name: its name.
          contents: the contents of the model's files, by name.
        """
        self.name = name
        self._contents = dict(contents)
        self._folder = ""
        self._lock: Any = None
        self._opened: dict[SentModel, Model] = {}  # guarded by self._lock

    def setup(self, worker: Any) -> None:
        """Write the files to the worker's folder, which Dask removes with the worker."""
        self._lock = threading.Lock()
        self._folder = os.path.join(worker.local_directory, self.name)
        for name, data in self._contents.items():
            path = os.path.join(self._folder, *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)
        self._contents = {}

    def opened(self, sent: SentModel) -> Model:
        """Return the model with these inputs, outputs and permissions, opened at the first call."""
        # Two threads that come first at once open it once.
        with self._lock:
            model = self._opened.get(sent)
            if model is None:
                model = self._opened[sent] = self._open(sent)
            return model

    def _open(self, sent: SentModel) -> Model:
        from tfnb.client.model import Model
        from tfnb.core.effects import Grant

        path = self._folder
        if sent.tags is None:
            folder = os.path.join(path, "graph")
            path = os.path.join(folder, os.listdir(folder)[0])
        checkpoint = sent.checkpoint and os.path.join(self._folder, *sent.checkpoint.split("/"))
        model = Model(
            path,
            checkpoint=checkpoint,
            tags=sent.tags,
            inputs=dict(sent.inputs),
            outputs=dict(sent.outputs),
        )
        policy = model.graph.effects_policy
        policy.add(tuple(Grant(kind, under) for kind, under in sorted(sent.grants, key=repr)))
        policy.set_step_limits(sent.limits)
        return model

    def teardown(self, worker: Any) -> None:
        """Close the models and remove the files."""
        with self._lock:
            opened, self._opened = self._opened, {}
        for model in opened.values():
            model.close()
        shutil.rmtree(self._folder, ignore_errors=True)
