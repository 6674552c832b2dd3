"""Resources that one node creates and others find by handle, for both kinds of handles.

A handle of the first kind is a reference to two strings, container and name; a handle of the second
kind is a ``ResourceHandle``.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.resource_mgr import RefCell, ResourceHandle
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Handle
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext

_numbers = itertools.count()
# Two steps may execute a node for the first time at the same moment.
_LOCK = threading.RLock()


def own_resource(
    ctx: OpKernelContext,
    type_name: str,
    container: str,
    shared_name: str,
    make: Callable[[str], Array],
    check: Callable[[Array], None] = lambda _: None,
) -> ResourceHandle:
    """Return a handle of this node's resource; the first execution creates or finds it.

    Args:
      ctx: the context of the kernel.
      type_name: the type of the resource.
      container: the container of the resource.
      shared_name: the name by which several nodes share one resource; "" for a private one.
      make: creates the resource, given its name.
      check: raises an error if an existing resource has other properties than the node needs.
    """
    manager = ctx.resource_manager

    def own_handle() -> ResourceHandle | None:
        handle: ResourceHandle | None = ctx.kernel_state.get("handle")
        if handle is None or manager.find(container, type_name, handle.name) is None:
            return None
        return handle

    handle = own_handle()
    if handle is None:
        with _LOCK:
            handle = own_handle()
            if handle is None:
                name = shared_name or f"_{next(_numbers)}_{ctx.node_name}"
                check(manager.lookup_or_create(container, type_name, name, lambda: make(name)))
                handle = manager.make_handle(name, type_name, container=container)
                ctx.kernel_state["handle"] = handle
                if not shared_name:
                    ctx.kernel.own(handle)
    return handle


def reference_to(handle: ResourceHandle) -> RefCell:
    """Return a handle of the first kind: a reference to two strings."""
    cell = RefCell(handle.name, dtypes.string, TensorShape([2]))
    parts: tuple[str | bytes, ...] = (handle.container, handle.name)
    names = [part if isinstance(part, bytes) else part.encode() for part in parts]
    cell.assign(np.array(names, dtype=object))
    return cell


def as_reference(ctx: OpKernelContext, handle: ResourceHandle) -> RefCell:
    """Return a handle of either kind as one of the first kind."""
    of_handle, cell = ctx.kernel_state.get("cell", (None, None))
    if cell is None or of_handle is not handle:
        cell = reference_to(handle)
        ctx.kernel_state["cell"] = (handle, cell)
    found: RefCell = cell
    return found


def find_resource(ctx: OpKernelContext, handle: Handle, type_name: str, kind: type[Any]) -> Any:
    """Return the resource that a handle of either kind refers to.

    Args:
      ctx: the context of the kernel.
      handle: the handle.
      type_name: the type of the resource behind a handle of the first kind.
      kind: the class of the resource.

    Raises:
      NotFoundError: it does not exist, or exists no more.
      InvalidArgumentError: it is of another class, or the handle is not two strings.
    """
    if isinstance(handle, RefCell):
        container, name = strings_of(handle.read())
        handle = ResourceHandle("", container, name, type_name)
    return ctx.resource_manager.lookup(handle, kind)


def strings_of(pair: Array) -> tuple[Any, Any]:
    """Return container and name in a handle of the first kind.

    Raises:
      InvalidArgumentError: it is not two strings.
    """
    parts = np.asarray(pair).reshape(-1).tolist()
    if len(parts) != 2 or not all(isinstance(part, bytes) for part in parts):
        raise errors.invalid_argument("Resource handle must have two elements of type string.")
    container, name = (as_text(part) for part in parts)
    return container, name


def as_text(part: bytes) -> str | bytes:
    """Return a name as text; bytes that are not UTF-8 stay bytes, as in attributes."""
    try:
        return part.decode()
    except UnicodeDecodeError:
        return part


def pair_shape(c: InferenceContext) -> TensorShape:
    """Return the shape of a handle of the first kind."""
    return TensorShape([2])
