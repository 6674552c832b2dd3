"""Named state of a device: variables, queues, tables, grouped in containers.

``ResourceMgr`` maps (container, type, name) to an object and is owned by one device of one session.
``RefCell`` is the buffer behind a reference edge (``float32_ref``) and, as ``Var``, behind a
resource variable.  Arrays inside a cell are never written while they are referenced elsewhere:
``assign`` replaces the array, ``writable`` returns the array itself only when the cell is its sole
owner, else a copy.  A reader therefore keeps its value unchanged, as if every read had copied.

Corresponds to TensorFlow's ``resource_mgr.h``; differs in that a type is a plain string.
"""

from __future__ import annotations

import threading
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.array_module import is_device_array
from tfnb.core.process import forking
from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType
    from tfnb.core.tensor_shape import TensorShape

_LOCAL_JOB = "localhost"


@record(slots=True, frozen=True)
class ResourceHandle:
    """A DT_RESOURCE value: the location of a resource and its static type."""

    device: str
    container: str
    name: str
    type_name: str
    dtype: DType | None = None
    value_shape: TensorShape | None = None

    # A handle has the shape of a scalar tensor.
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the handle as a tensor: a scalar."""
        return ()


def job_of(device_name: str) -> str:
    """Return the job of a device, after which its default container is named.

    >>> job_of("/job:ps/replica:0/task:0/device:CPU:0"), job_of("")
    ('ps', 'localhost')
    """
    _, _, rest = device_name.partition("/job:")
    return rest.partition("/")[0] or _LOCAL_JOB


def owned(value: Any) -> Any:
    """Return the value for an owner that keeps it longer than the step.

    A read-only array, for example a fed one, may be changed by its owner after the step, so it is
    copied.
    """
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return value.copy()
    return value


class RefCell:
    """The mutable buffer of one variable.

    ``lock`` guards every read-modify-write of ``value``; a plain read needs no lock.
    """

    __slots__ = ("dtype", "lock", "name", "shape", "value")

    def __init__(self, name: str, dtype: DType, shape: TensorShape | None = None) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.value: Any = None
        self.lock = threading.RLock()

    @property
    def is_initialized(self) -> bool:
        """Whether a value was ever assigned."""
        return self.value is not None

    def read(self) -> Any:
        """Return the current value.

        Raises:
          FailedPreconditionError: nothing was assigned yet.
        """
        value = self.value
        if value is None:
            raise errors.failed_precondition(
                f"Attempting to use uninitialized value {self.name}", errors.Mistake.NOT_INITIALIZED
            )
        return value

    def assign(self, value: Any) -> None:
        """Replace the value."""
        value = owned(value)
        with self.lock:
            self.value = value

    def update(self, function: Callable[[Any], Any]) -> Any:
        """Replace the value by ``function(value)`` atomically and return it."""
        with self.lock:
            self.value = value = function(self.read())
            return value

    def writable(self) -> Any:
        """Return the value as an array that may be written in place; call it under ``lock``.

        A value that is referenced elsewhere (a fetch, a constant, another op's input) is copied
        first.
        """
        value = self.value
        if value is None:
            value = self.read()
        if isinstance(value, np.ndarray):
            is_lent = value.base is not None or not value.flags.writeable
        else:
            is_lent = not is_device_array(value) or value.base is not None
        # Three references exist here: the cell, the local name, getrefcount's argument.
        if is_lent or getrefcount(value) > 3:
            value = np.array(value) if isinstance(value, np.ndarray | np.generic) else value.copy()
            self.value = value
        return value


class Var(RefCell):
    """A resource variable: a cell that is reached through a handle."""

    __slots__ = ()

    def read(self) -> Any:
        """Return the current value.

        Raises:
          FailedPreconditionError: nothing was assigned yet.
        """
        value = self.value
        if value is None:
            raise errors.failed_precondition(
                f"Could not find variable {self.name}. This could mean that the variable has not "
                "been initialized. In TF1, it means that the variable's initializer was not run "
                f"before this read; error while reading resource variable {self.name}.",
                errors.Mistake.NOT_INITIALIZED,
            )
        return value


def wrong_type(handle: ResourceHandle, kind: type[Any]) -> errors.InvalidArgumentError:
    """Return the error for a handle whose resource is not of the class that its user needs."""
    return errors.invalid_argument(
        "Trying to access a handle's resource using the wrong type. The handle points to a "
        f"resource (name '{handle.name}') of type '{handle.type_name}' but you are trying to "
        f"access the resource as type '{kind.__name__}'"
    )


class ResourceMgr:
    """Containers of named resources; thread safe."""

    def __init__(self, device_name: str = "") -> None:
        self.device_name = device_name
        self.default_container = job_of(device_name)
        self._lock = threading.RLock()
        self._containers: dict[str, dict[tuple[str, str], Any]] = {}  # guarded by self._lock
        self._is_finalized = False  # guarded by self._lock
        # Incremented when a resource is deleted; cached lookups are valid while it is unchanged.
        self.num_losses = 0  # guarded by self._lock
        if device_name:  # only the manager of one step has no name
            forking.guard(self, "_lock")
            forking.renew_in_child(self)

    def renew_after_fork(self) -> None:
        """Replace locks that threads of the parent held: those of resources and their parts."""
        resources = [one for held in self._containers.values() for one in held.values()]
        parts = [part for one in resources for part in getattr(one, "__dict__", {}).values()]
        for owner in (*resources, *parts):
            for name in ("lock", "_lock"):
                if hasattr(getattr(owner, name, None), "acquire"):
                    forking.renew_lock(owner, name)

    def finalize(self) -> None:
        """Refuse new resources from now on; existing ones can be used."""
        with self._lock:
            self._is_finalized = True

    def _check_not_finalized(self) -> None:
        if self._is_finalized:
            raise errors.failed_precondition("ResourceMgr is finalized.")

    def make_handle(
        self,
        name: str,
        type_name: str,
        *,
        container: str = "",
        dtype: DType | None = None,
        shape: TensorShape | None = None,
    ) -> ResourceHandle:
        """Return a handle for a resource of this device; the resource is not created."""
        return ResourceHandle(
            self.device_name, container or self.default_container, name, type_name, dtype, shape
        )

    def create(self, container: str, type_name: str, name: str, resource: Any) -> Any:
        """Add a resource.

        Raises:
          AlreadyExistsError: the name is taken.
          FailedPreconditionError: the manager was finalized.
        """
        with self._lock:
            self._check_not_finalized()
            entries = self._containers.setdefault(container or self.default_container, {})
            if (type_name, name) in entries:
                raise errors.already_exists(
                    f"Resource {container}/{name}/{type_name} exists already"
                )
            entries[type_name, name] = resource
            return resource

    def find(self, container: str, type_name: str, name: str) -> Any | None:
        """Return the resource, or None."""
        entries = self._containers.get(container or self.default_container)
        return None if entries is None else entries.get((type_name, name))

    def lookup(self, handle: ResourceHandle, kind: type[Any] = object) -> Any:
        """Return the resource behind a handle.

        Args:
          handle: the handle.
          kind: the class of the resource that the caller uses: a graph may give any handle.

        Raises:
          NotFoundError: the resource does not exist (it was never created, or was deleted).
          InvalidArgumentError: it is of another class.
        """
        found = self.find(handle.container, handle.type_name, handle.name)
        if found is None:
            raise errors.not_found(
                f"Resource {handle.container}/{handle.name}/{handle.type_name} does not exist."
            )
        if not isinstance(found, kind):
            raise wrong_type(handle, kind)
        return found

    def lookup_or_create(
        self, container: str, type_name: str, name: str, make: Callable[[], Any]
    ) -> Any:
        """Return the resource with this name; ``make`` makes it if there is none.

        Raises:
          FailedPreconditionError: there is none, and the manager was finalized.
        """
        with self._lock:
            entries = self._containers.setdefault(container or self.default_container, {})
            found = entries.get((type_name, name))
            if found is None:
                self._check_not_finalized()
                found = entries[type_name, name] = make()
            return found

    def delete(self, handle: ResourceHandle) -> None:
        """Delete the resource of a handle.

        Raises:
          NotFoundError: the resource does not exist.
        """
        if not self.discard(handle):
            raise errors.not_found(
                f"Resource {handle.container}/{handle.name}/{handle.type_name} does not exist."
            )

    def discard(self, handle: ResourceHandle) -> bool:
        """Delete the resource of a handle; return whether there was one."""
        with self._lock:
            entries = self._containers.get(handle.container, {})
            resource = entries.pop((handle.type_name, handle.name), None)
            self.num_losses += 1
        if resource is not None:
            _close(resource)
        return resource is not None

    def cleanup(self, container: str = "") -> None:
        """Drop every resource of one container ("" = the default one)."""
        with self._lock:
            entries = self._containers.pop(container or self.default_container, {})
            self.num_losses += 1
        for resource in entries.values():
            _close(resource)

    def clear(self) -> None:
        """Drop every resource."""
        with self._lock:
            containers, self._containers = self._containers, {}
            self.num_losses += 1
        for entries in containers.values():
            for resource in entries.values():
                _close(resource)

    def names(self) -> list[tuple[str, str, str]]:
        """Return (container, type, name) of every resource, sorted."""
        with self._lock:
            return sorted((c, t, n) for c, entries in self._containers.items() for t, n in entries)


def _close(resource: Any) -> None:
    close = getattr(resource, "close", None)
    if close is not None:
        close()
