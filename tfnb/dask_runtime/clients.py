"""The client whose workers are used: the given one, Dask's current one, or one of this process.

State: the embedded client, guarded by ``_lock``; Dask ends it and its workers with the process.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from contextlib import suppress
from typing import Any

from tfnb.core import errors
from tfnb.dask_runtime.dask_import import import_dask

EXPORTS = {"dask": ["get_client"]}

# Configuration of the workers that start here. Dask's defaults look at the stack of each thread a
# hundred times a second, for a page of the dashboard, and look fifty times a second whether the
# event loop is late: together, this takes 3 % of a processor in each worker.
_CONFIG = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
}

_lock = threading.Lock()
_embedded: Any = None  # guarded by _lock


def get_client(client: Any = None, *, workers: int = 1) -> Any:
    """Return a Dask client: the given one, the current one, or one with workers on this machine.

    The last starts with the first call, with a process of one thread for each core, and ends with
    this process or by ``client.close()``. Its workers are not profiled: the page "Profile" of their
    dashboard is empty. A script needs ``if __name__ == "__main__":`` for it.

    Args:
      client: a ``distributed.Client``; None: see above.
      workers: the fewest workers, if they are started here.

    Raises:
      TypeError: it is no client, or one for ``await``.
      FailedPreconditionError: it is closed, or a worker process imports the script that calls this.
      UnimplementedError: Dask is not installed.
    """
    distributed = import_dask()
    if client is None:
        client = current_client()
    if client is None:
        client = _embedded_client(distributed, workers)
    elif client is _embedded and len(client.cluster.plan) < workers:
        client.cluster.scale(workers)
    if not isinstance(client, distributed.Client):
        raise TypeError(f"`client` must be a distributed.Client, not {type(client).__name__}.")
    if client.asynchronous:
        raise TypeError("`client` must not be asynchronous: make it with Client(address).")
    if client.status == "closed":
        raise errors.failed_precondition("The Dask client is closed. Make another one.")
    return client


def current_client() -> Any:
    """Return Dask's current client, or None."""
    with suppress(ValueError):
        return import_dask().default_client()
    return None


def _embedded_client(distributed: Any, workers: int) -> Any:
    """Return the client of this process, with its workers."""
    global _embedded
    # A worker process that is being started imports the script of its parent.
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise errors.failed_precondition(
            "Workers import this script to start. Put the call that starts them below "
            "`if __name__ == '__main__':`, or give a client."
        )
    with _lock:
        if _embedded is None or _embedded.status == "closed":
            config = import_dask("dask").config
            with config.set(_CONFIG):  # for the scheduler, which is in this process
                _embedded = distributed.Client(
                    n_workers=max(workers, _num_cores()),
                    threads_per_worker=1,
                    dashboard_address="localhost:0",
                    # A copy, for workers that start later, too.
                    config=config.merge({"distributed": config.get("distributed")}),
                )
            from tfnb.dask_runtime.worker_plugins import IgnoreInterrupts

            _embedded.register_plugin(IgnoreInterrupts(), name="tfnb-ignore-interrupts")
        return _embedded


def _num_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return os.cpu_count() or 1 if affinity is None else len(affinity(0))


def are_on_this_machine(client: Any) -> bool:
    """Return whether all workers of a client are processes, or threads, of this machine."""
    return all(is_loopback(host) for host in hosts_of(client).values())


def hosts_of(client: Any) -> dict[str, str]:
    """Return the host of each worker, by the worker's address."""
    found: dict[str, str] = client.run(_host_of)
    return found


def _host_of(dask_worker: Any) -> str:
    """Return the host of a worker; runs there."""
    address = str(dask_worker.address)
    return "127.0.0.1" if address.startswith("inproc://") else str(dask_worker.ip)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("10.0.0.2")
    (True, False)
    """
    return host.startswith("127.") or host in ("::1", "localhost")
