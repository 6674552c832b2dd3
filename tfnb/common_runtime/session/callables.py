"""Signatures under a handle: RunCallable without naming feeds and fetches again."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any, Protocol

from tfnb.common_runtime.executor.executors_and_keys import view
from tfnb.core import errors
from tfnb.core.device_spec import parse_full_name
from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.common_runtime.device.device_mgr import DeviceMgr
    from tfnb.common_runtime.executor.executors_and_keys import Executors, ExecutorsAndKeys
    from tfnb.proto import config_pb2


class CallableSession(Protocol):
    """A session that has callables."""

    @property
    def device_mgr(self) -> DeviceMgr:
        """The session's devices."""

    def prepare(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> ExecutorsAndKeys:
        """Return the executors of a signature."""

    def create_executors(
        self,
        feeds: tuple[str, ...],
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
        *,
        connections: Sequence[tuple[str, str]],
        feed_devices: Sequence[str],
        fetch_devices: Sequence[str],
        sync_on_finish: bool,
    ) -> Executors:
        """Make executors that no other callable shares."""

    def run_prepared(
        self,
        prepared: ExecutorsAndKeys,
        feed_values: Sequence[Any],
        run_options: config_pb2.RunOptions | None,
        run_metadata: config_pb2.RunMetadata | None,
    ) -> list[Any]:
        """Run one step."""


@record(slots=True)
class _Callable:
    prepared: ExecutorsAndKeys
    run_options: config_pb2.RunOptions | None
    # (position, device) of feeds and fetches that lie on another device than the host.
    feed_places: tuple[tuple[int, Device], ...] = ()
    fetch_places: tuple[tuple[int, Device], ...] = ()


class Callables:
    """The callables of one session; thread safe."""

    def __init__(self, session: CallableSession) -> None:
        self._session = session
        self._lock = threading.RLock()  # a finalizer may release inside of it
        self._handles = itertools.count(0)
        self._num_made = 0  # guarded by self._lock
        self._callables: dict[int, _Callable] = {}  # guarded by self._lock

    def make(self, options: config_pb2.CallableOptions) -> int:
        """Prepare a signature.

        Raises:
          InvalidArgumentError: a device that is to hold a tensor is malformed or not there.
          UnimplementedError: the device cannot hold tensors of that type, or fetches are to be left
            on a device without ``fetch_skip_sync``.
          OpError: the graph cannot be pruned, placed or partitioned.
        """
        signature = (tuple(options.feed), tuple(options.fetch), tuple(options.target))
        connections = [(c.from_tensor, c.to_tensor) for c in options.tensor_connection]
        if options.fetch_devices and not options.fetch_skip_sync:
            raise errors.unimplemented(
                "CallableOptions.fetch_skip_sync = false is not yet implemented. You can set it to "
                "true instead, but MUST ensure that Device::Sync() is invoked on the Device "
                "corresponding to the fetched tensor before dereferencing the Tensor's memory."
            )
        feed_devices = self._devices(options.feed, options.feed_devices)
        fetch_devices = self._devices(options.fetch, options.fetch_devices)
        is_special = connections or options.fetch_skip_sync
        if is_special or any(feed_devices) or any(fetch_devices):
            executors = self._session.create_executors(
                *signature,
                connections=connections,
                feed_devices=feed_devices,
                fetch_devices=fetch_devices,
                sync_on_finish=not options.fetch_skip_sync,
            )
            prepared = view(executors, signature)
        else:
            prepared = self._session.prepare(*signature)
        run_options = options.run_options if options.HasField("run_options") else None
        with self._lock:
            handle = next(self._handles)
            self._num_made = handle + 1
            self._callables[handle] = _Callable(
                prepared, run_options, self._places(feed_devices), self._places(fetch_devices)
            )
            return handle

    def _places(self, names: Sequence[str]) -> tuple[tuple[int, Device], ...]:
        lookup = self._session.device_mgr.lookup
        return tuple((position, lookup(name)) for position, name in enumerate(names) if name)

    def _devices(self, names: Sequence[str], wanted: Mapping[str, str]) -> list[str]:
        """Return the device that holds each tensor, "" for the host."""
        found = []
        known = {device.name: device for device in self._session.device_mgr.devices}
        for name in names:
            asked = wanted.get(name)
            if not asked:
                found.append("")
                continue
            spec = parse_full_name(asked)
            if spec is None:
                raise errors.invalid_argument(
                    f"Invalid device name ('{asked}') provided for the tensor '{name}' in "
                    "CallableOptions"
                )
            device = known.get(spec.to_string())
            if device is None:
                raise errors.invalid_argument(
                    f"Device '{asked}' specified for tensor '{name}' in CallableOptions does not "
                    f"exist. This session has: {', '.join(known)}."
                )
            found.append("" if device is self._session.device_mgr.host else device.name)
        return found

    def run(
        self, handle: int, feed_values: Sequence[Any], run_metadata: config_pb2.RunMetadata | None
    ) -> list[Any]:
        """Run a callable.

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
        if found.feed_places:
            feed_values = list(feed_values)
            for position, device in found.feed_places:
                feed_values[position] = device.adopt(feed_values[position])
        if run_metadata is not None:
            run_metadata.Clear()
        results = self._session.run_prepared(
            found.prepared, feed_values, found.run_options, run_metadata
        )
        for device in {device for _, device in (*found.feed_places, *found.fetch_places)}:
            device.hand_over()
        return results

    def release(self, handle: int) -> None:
        """Forget a callable.

        Raises:
          InvalidArgumentError: the handle is unknown.
        """
        with self._lock:
            if self._callables.pop(handle, None) is None:
                raise errors.invalid_argument(f"No such callable handle: {handle}")
