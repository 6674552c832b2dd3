"""Models in workers: sent once by a plugin, opened once in each worker that uses them.

The workers are asked whether they have a model: another client of their scheduler may have sent or
removed it.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tfnb.dask_runtime.clients import get_client
from tfnb.dask_runtime.model_of_tasks import SentModel, plugin_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.client.model import Model

EXPORTS = {"dask": ["remove_model"]}


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
    name = plugin_name(sent.digest)
    sending = _sending_in(client, name)
    if sending is None:
        from tfnb.dask_runtime.worker_plugins import ModelPlugin

        plugin = ModelPlugin(name, contents)
        client.register_plugin(plugin, name=name)
        sending = plugin.sending
    return replace(sent, sending=sending)


def _sending_in(client: Any, name: str) -> str | None:
    """Return the sending of the model that a plugin holds in the workers; None if they lack it."""
    workers = list(client.scheduler_info()["workers"])[:1]
    if not workers:
        return None
    # A worker that ends meanwhile does not answer; sending a model again changes nothing.
    found: dict[str, str | None] = client.run(_sending_of, name, workers=workers, on_error="ignore")
    return next(iter(found.values()), None)


def _sending_of(name: str, dask_worker: Any) -> str | None:
    """Return the sending of a plugin; runs in a worker."""
    return getattr(dask_worker.plugins.get(name), "sending", None)


def remove_model(model: Model, client: Any = None) -> None:
    """Remove a model from the workers, where it stays otherwise until the cluster ends.

    Collections that were made of it, also by other clients of these workers, can be computed again
    only after another ``map``.

    Args:
      model: the model.
      client: the client that it was mapped with; the current one if None.
    """
    client = get_client(client)
    with suppress(ValueError):  # it is not there
        client.unregister_worker_plugin(plugin_name(_digest(model.contents())))
