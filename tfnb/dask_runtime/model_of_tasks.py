"""A model as tasks carry it: small, with what opens the model's files in a worker.

Where a task runs in the process of the model, it uses that model; elsewhere the worker's plugin
opens the files that it was sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.dask_runtime.dask_import import import_dask

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.client.model import Model
    from tfnb.core.effects import StepLimits


@dataclass(frozen=True, slots=True)
class SentModel:
    """A model as tasks carry it.

    Attributes:
      digest: a hash of the model's files.
      path: where the model came from, for messages.
      tags: tags of a SavedModel; None for other models.
      checkpoint: the name of its checkpoint among the files; None for none.
      inputs: key and tensor of each input.
      outputs: likewise.
      grants: effects that the model's graph may have, with the folder of each.
      limits: limits of its steps.
      sending: a name that differs each time that the files are sent, so that a model that was
        removed and sent again gets new tasks: those of before may have failed. Empty: not sent.
      model: the model itself, in its own process only.
    """

    digest: str
    path: str
    tags: tuple[str, ...] | None
    checkpoint: str | None
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    grants: frozenset[tuple[str, str | None]]
    limits: StepLimits
    sending: str = ""
    model: Model | None = field(default=None, compare=False, repr=False)

    def _fields(self) -> tuple[Any, ...]:
        return (
            self.digest,
            self.path,
            self.tags,
            self.checkpoint,
            self.inputs,
            self.outputs,
            self.grants,
            self.limits,
            self.sending,
        )

    def __reduce__(self) -> tuple[Callable[..., SentModel], tuple[Any, ...]]:
        return SentModel, self._fields()

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return what the names of tasks depend on."""
        others = sorted(map(repr, self.grants)), self.limits, self.sending
        return tuple(map(repr, (*self._fields()[:6], *others)))

    def opened(self) -> Model:
        """Return the model in this process.

        Raises:
          FailedPreconditionError: the model was not sent to this worker.
        """
        if self.model is not None:
            return self.model
        plugin = None
        try:
            worker = import_dask().get_worker()
        except ValueError:  # a process that is no worker of a distributed scheduler
            worker = None
        if worker is not None:
            plugin = worker.plugins.get(plugin_name(self.digest))
        if plugin is None:
            raise errors.failed_precondition(
                f"The model of {self.path} is not in this process. Map it with the client that "
                "computes the collection: model.map(collection, client=client)"
            )
        found: Model = plugin.opened(self)
        return found


def plugin_name(digest: str) -> str:
    """Return the name of a model's plugin."""
    return f"tfnb-model-{digest}"
