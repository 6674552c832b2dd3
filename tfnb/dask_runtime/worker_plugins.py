"""Plugins that run in Dask's workers: models and servers that live as long as the worker.

The only file that imports Dask as it is imported; others import it on first use.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import threading
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import WorkerPlugin

from tfnb.core import errors
from tfnb.core.process.notification import Notification

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tfnb.client.model import Model
    from tfnb.dask_runtime.model_of_tasks import SentModel
    from tfnb.distributed_runtime.server_lib import GrpcServer

_log = logging.getLogger("tfnb")
# How often a port that another process has taken is tried again, in seconds.
_PORT_S = 0.2


class ModelPlugin(WorkerPlugin):  # type: ignore[misc] # Dask is optional
    """The files of a model in a worker, and the models opened from them.

    Attributes:
      name: the name of the plugin.
      sending: a name that no other plugin has.
    """

    # Two clients may send a model at the same time; the second must not close what the first uses.
    idempotent = True

    def __init__(self, name: str, contents: Mapping[str, bytes]) -> None:
        """Make a plugin.

        Args:
          name: its name.
          contents: the contents of the model's files, by name.
        """
        self.name = name
        self.sending = uuid.uuid4().hex
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

    @property
    def open_models(self) -> list[SentModel]:
        """What has been opened."""
        with self._lock:
            return list(self._opened)

    def teardown(self, worker: Any) -> None:
        """Close the models and remove the files."""
        with self._lock:
            opened, self._opened = self._opened, {}
        for model in opened.values():
            model.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class IgnoreInterrupts(WorkerPlugin):  # type: ignore[misc] # Dask is optional
    """Keeps an interrupt of the user's process, which reaches its children, from ending workers."""

    def setup(self, worker: Any) -> None:
        """Ignore interrupts, if this is the thread that may say it."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)


class ServerPlugin(WorkerPlugin):  # type: ignore[misc] # Dask is optional
    """The server of a task in the worker that the task is given to; nothing in other workers."""

    def __init__(
        self,
        jobs: Mapping[str, Any],
        tasks: Mapping[Any, tuple[str, int]],
        config: bytes,
        tls: Sequence[str | None] | None,
        first_workers: Collection[str] = (),
    ) -> None:
        """Make a plugin.

        Args:
          jobs: the cluster, job -> addresses.
          tasks: name of a worker -> its task.
          config: a serialized ``ConfigProto``.
          tls: paths of certificate, key and the clients' authority; None: no encryption.
          first_workers: Dask's addresses of the workers that run now: a server of theirs whose port
            is taken is an error. A worker that Dask starts again has another address.
        """
        self._jobs = dict(jobs)
        self._tasks = dict(tasks)
        self._config = config
        self._tls = tls
        self._first_workers = frozenset(first_workers)
        self._server: GrpcServer | None = None
        self._waiting: threading.Thread | None = None
        self._ends: Any = None  # a Notification, once a thread waits

    def setup(self, worker: Any) -> None:
        """Start the server of the worker's task; also where Dask starts the worker again.

        The port of a worker that was started again may have been taken meanwhile. The others of the
        cluster know no other port: its server starts as soon as the port is free.

        Raises:
          UnknownError: the port of a worker that runs already is taken.
        """
        task = self._tasks.get(worker.name)
        if task is None:
            return
        try:
            self._start(*task)
        except errors.UnknownError as error:
            if worker.address in self._first_workers:
                raise
            _log.warning("%s It is tried again until then.", error.message)
            self._ends = Notification()
            self._waiting = threading.Thread(
                target=self._start_when_free, args=task, name="tfnb-waits-for-port", daemon=True
            )
            self._waiting.start()

    def _start_when_free(self, job: str, index: int) -> None:
        while not self._ends.wait(_PORT_S):
            with suppress(errors.UnknownError):
                self._start(job, index)
                return

    def _start(self, job: str, index: int) -> None:
        """Start the server.

        Raises:
          UnknownError: its port is taken.
        """
        from tfnb.core.cluster_spec import ClusterSpec
        from tfnb.distributed_runtime.grpc_channel import TlsFiles
        from tfnb.distributed_runtime.server_lib import GrpcServer
        from tfnb.proto.tensorflow_server_pb2 import ServerDef

        server_def = ServerDef(job_name=job, task_index=index, protocol="grpc")
        server_def.cluster.CopyFrom(ClusterSpec(self._jobs).as_cluster_def())
        server_def.default_session_config.MergeFromString(self._config)
        tls = None
        if self._tls is not None:
            certificate, key, client_ca = (
                None if path is None else Path(path).read_bytes() for path in self._tls
            )
            tls = TlsFiles(certificate or b"", key or b"", client_ca)
        self._server = GrpcServer(server_def, None, tls)
        self._server.start()

    def teardown(self, worker: Any) -> None:
        """Stop the server."""
        if self._waiting is not None:
            self._ends.notify()
            self._waiting.join()
        if self._server is not None:
            self._server.stop()
