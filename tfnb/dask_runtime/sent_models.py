"""Models in workers: sent once by a plugin, opened once in each worker that uses them.

State: which client was sent which model, guarded by ``_lock``.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tfnb.core.process.weak_registry import WeakTable
from tfnb.dask_runtime.clients import get_client
from tfnb.dask_runtime.model_of_tasks import SentModel, plugin_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.client.model import Model

EXPORTS = {"dask": ["remove_model"]}

_lock = threading.Lock()
# client -> digest -> number of the sending; guarded by _lock
_sent: WeakTable[Any, dict[str, int]] = WeakTable()
_sendings = itertools.count(1)


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
        model=model,
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
            known = {}
            _sent[client] = known
        if sent.digest not in known:
            from tfnb.dask_runtime.worker_plugins import ModelPlugin

            plugin = ModelPlugin(plugin_name(sent.digest), contents)
            client.register_plugin(plugin, name=plugin_name(sent.digest))
            known[sent.digest] = next(_sendings)
        return replace(sent, sending=known[sent.digest])


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
            del known[digest]
