"""Resources that a node makes and others reach by handle: of both kinds that TensorFlow has.

A handle of the first kind is a reference to two strings, container and name; one of the second is a
``ResourceHandle``.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes
from tfnb.core.resource_mgr import RefCell, ResourceHandle
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Handle
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext

_numbers = itertools.count()
# Two steps may execute a node for the first time at once.
_LOCK = threading.RLock()


def own_resource(
    ctx: OpKernelContext,
    type_name: str,
    container: str,
    shared_name: str,
    make: Callable[[str], Array],
    check: Callable[[Array], None] = lambda _: None,
) -> ResourceHandle:
    """Return a handle of the resource of this node; the first execution makes it, or finds a shared one.

    Args:
      ctx: of the kernel.
      type_name: of the resource.
      container: where it lives.
      shared_name: under which several nodes mean one resource; "" for one of the node's own.
      make: makes the resource, given its name.
      check: raises an error if a resource that was found is not what the node wants.
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
    return handle


def reference_to(handle: ResourceHandle) -> RefCell:
    """Return a handle of the first kind: a reference to two texts."""
    cell = RefCell(handle.name, dtypes.string, TensorShape([2]))
    cell.assign(np.array([handle.container.encode(), handle.name.encode()], dtype=object))
    return cell


def as_reference(ctx: OpKernelContext, handle: ResourceHandle) -> RefCell:
    """Return the same as a handle of the first kind."""
    of_handle, cell = ctx.kernel_state.get("cell", (None, None))
    if cell is None or of_handle is not handle:
        cell = reference_to(handle)
        ctx.kernel_state["cell"] = (handle, cell)
    found: RefCell = cell
    return found


def find_resource(ctx: OpKernelContext, handle: Handle, type_name: str) -> Array:
    """Return what a handle of either kind means.

    Raises:
      NotFoundError: it does not exist, or not any more.
    """
    if isinstance(handle, RefCell):
        container, name = (part.decode() for part in handle.read().tolist())
        handle = ResourceHandle("", container, name, type_name)
    return ctx.resource_manager.lookup(handle)


def pair_shape(c: InferenceContext) -> TensorShape:
    """Return the shape of a handle of the first kind."""
    return TensorShape([2])
