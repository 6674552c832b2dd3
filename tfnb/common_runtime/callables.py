"""Signatures under a handle: RunCallable without naming feeds and fetches again."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executors_and_keys import view
from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.direct_session import DirectSession
    from tfnb.common_runtime.executors_and_keys import ExecutorsAndKeys
    from tfnb.proto import config_pb2


@dataclass(slots=True)
class _Callable:
    prepared: ExecutorsAndKeys
    run_options: config_pb2.RunOptions | None


class Callables:
    """The callables of one session; thread safe."""

    def __init__(self, session: DirectSession) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._handles = itertools.count(0)
        self._num_made = 0  # guarded by self._lock
        self._callables: dict[int, _Callable] = {}  # guarded by self._lock

    def make(self, options: config_pb2.CallableOptions) -> int:
        """Prepares a signature.

        Raises:
          UnimplementedError: tensors are kept in device memory.
          OpError: the graph cannot be pruned, placed or partitioned.
        """
        if options.feed_devices or options.fetch_devices:
            raise errors.unimplemented(
                "feeding/fetching from GPU devices is not yet supported for callables."
            )
        signature = (tuple(options.feed), tuple(options.fetch), tuple(options.target))
        connections = [(c.from_tensor, c.to_tensor) for c in options.tensor_connection]
        if connections:
            executors = self._session.create_executors(*signature, connections=connections)
            prepared = view(executors, signature)
        else:
            prepared = self._session.prepare(*signature)
        run_options = options.run_options if options.HasField("run_options") else None
        with self._lock:
            handle = next(self._handles)
            self._num_made = handle + 1
            self._callables[handle] = _Callable(prepared, run_options)
            return handle

    def run(
        self, handle: int, feed_values: Sequence[Any], run_metadata: config_pb2.RunMetadata | None
    ) -> list[Any]:
        """Runs a callable.

        Raises:
          InvalidArgumentError: the handle is unknown or released, or the number of feeds is wrong.
        """
        found = self._callables.get(handle)
        if found is None:
            if 0 <= handle < self._num_made:
                raise errors.invalid_argument(
                    "Attempted to run callable after handle was released."
                )
            raise errors.invalid_argument(f"No such callable handle: {handle}")
        wanted = len(found.prepared.feeds)
        if len(feed_values) != wanted:
            raise errors.invalid_argument(
                f"Expected {wanted} feed tensors, but got {len(feed_values)}."
            )
        return self._session.run_prepared(
            found.prepared, feed_values, found.run_options, run_metadata
        )

    def release(self, handle: int) -> None:
        """Forgets a callable.

        Raises:
          InvalidArgumentError: there is none by this handle.
        """
        with self._lock:
            if self._callables.pop(handle, None) is None:
                raise errors.invalid_argument(f"No such callable handle: {handle}")
