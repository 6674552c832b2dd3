"""Models in workers: sent once by a plugin, opened once in each worker that uses them.

A task carries a :class:`SentModel`, which is small. Where the task runs in the process of the
model, it uses that model; elsewhere the worker's plugin opens the files that it was sent.

State: which client was sent which model, guarded by ``_lock``.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.process.weak_registry import WeakTable
from tfnb.dask_runtime.clients import get_client
from tfnb.dask_runtime.dask_import import import_dask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfnb.client.model import Model
    from tfnb.core.effects import StepLimits

EXPORTS = {"dask": ["remove_model"]}

_lock = threading.Lock()
_sent: WeakTable[Any, set[str]] = WeakTable()  # client -> digests; guarded by _lock


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
        )

    def __reduce__(self) -> tuple[Callable[..., SentModel], tuple[Any, ...]]:
        return SentModel, self._fields()

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return what the names of tasks depend on."""
        return tuple(map(repr, (*self._fields()[:6], sorted(map(repr, self.grants)), self.limits)))

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


def describe_model(model: Model, contents: Mapping[str, bytes]) -> SentModel:
    """Return a model as tasks carry it, with the permissions that its graph has now."""
    loaded = model.loaded
    policy = model.graph.effects_policy
    checkpoint = loaded.checkpoint
    if checkpoint is not None:
        checkpoint = "checkpoint/" + checkpoint.replace("\\", "/").rpartition("/")[2]
    is_saved_model = loaded.model.kind == "SavedModel"
    return SentModel(
        _digest(contents),
        model.path,
        tuple(loaded.model.tags) if is_saved_model else None,
        checkpoint,
        tuple((key, one.name) for key, one in model.inputs.items()),
        tuple((key, one.name) for key, one in model.outputs.items()),
        frozenset((grant.kind, grant.under) for grant in policy.grants()),
        policy.step_limits,
        model,
    )


def _digest(contents: Mapping[str, bytes]) -> str:
    found = hashlib.sha256()
    for name in sorted(contents):
        found.update(f"{len(name)} {name} {len(contents[name])} ".encode())
        found.update(contents[name])
    return found.hexdigest()[:32]


def send_model(model: Model, client: Any) -> SentModel:
    """Send a model to the workers of a client, present and future; return it as tasks carry it.

    Args:
      model: the model.
      client: the client; None: tasks run in this process.
    """
    contents = model.contents()
    sent = describe_model(model, contents)
    if client is None:
        return sent
    with _lock:
        known = _sent.get(client)
        if known is None:
            known = set()
            _sent[client] = known
        if sent.digest not in known:
            from tfnb.dask_runtime.worker_plugins import ModelPlugin

            plugin = ModelPlugin(plugin_name(sent.digest), contents)
            client.register_plugin(plugin, name=plugin_name(sent.digest))
            known.add(sent.digest)
    return sent


def remove_model(model: Model, client: Any = None) -> None:
    """Remove a model from the workers, where it stays otherwise until the cluster ends.

    Collections that were made of it can be computed again only after another ``map``.

    Args:
      model: the model.
      client: the client that it was mapped with; the current one if None.
    """
    client = get_client(client)
    digest = _digest(model.contents())
    with _lock:
        known = _sent.get(client)
        if known is not None and digest in known:
            client.unregister_worker_plugin(plugin_name(digest))
            known.discard(digest)
