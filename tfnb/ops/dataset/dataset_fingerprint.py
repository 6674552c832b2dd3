"""The fingerprint of a dataset: a number that is equal for equal pipelines, in every process.

A dataset consists of functions that make iterators, and the values that these functions have
captured (other datasets, arrays, functions of the graph). The fingerprint depends on all of them;
functions of the graph count by their bodies, not their names. As in TensorFlow, seeds of shuffling
do not count. The number itself differs from TensorFlow's, which hashes nodes.
"""

from __future__ import annotations

import functools
import hashlib
import types
from typing import TYPE_CHECKING, Final

import numpy as np

from tfnb.core.attr_value import NameAttrList
from tfnb.core.dtypes import DType
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.dataset.dataset_iterators import CapturedFunction, DatasetBase, as_dataset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.core.kernel_types import Array, Variant
    from tfnb.core.op_kernel import FunctionCaller, OpKernelContext

_TEXTS: Final = (bool, int, float, complex, str, bytes, type(None), DType, TensorShape)


def fingerprint(ctx: OpKernelContext, dataset: DatasetBase) -> int:
    """Return the fingerprint of a dataset, a number of 64 bits.

    Args:
      ctx: the context of a kernel, whose library has the functions that the dataset calls.
      dataset: the dataset.
    """
    return _Fingerprint(ctx.function_library).of(dataset)


class _Fingerprint:
    def __init__(self, library: FunctionCaller) -> None:
        self._library = library
        self._hash = hashlib.blake2b(digest_size=8)
        self._seen: dict[int, int] = {}
        self._kept: list[Array] = []

    def of(self, value: Array) -> int:
        self._add(value)
        return int.from_bytes(self._hash.digest(), "little")

    def _text(self, *parts: Array) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else repr(part).encode()
            self._hash.update(len(data).to_bytes(8, "little") + data)

    def _add(self, value: Array) -> None:
        if isinstance(value, _TEXTS) or value is Ellipsis:
            self._text(type(value).__name__, value)
        elif isinstance(value, type | types.ModuleType | types.BuiltinFunctionType):
            self._text("named", getattr(value, "__qualname__", value.__name__))
        elif id(value) in self._seen:
            self._text("again", self._seen[id(value)])
        else:
            self._seen[id(value)] = len(self._seen)
            self._kept.append(value)  # so that its id is not reused
            self._add_parts(value)

    def _add_parts(self, value: Array) -> None:
        if isinstance(value, np.ndarray | np.generic):
            array = np.asarray(value)
            self._text("array", str(array.dtype), array.shape)
            if array.dtype == object:
                self._all(array.reshape(-1).tolist())
            else:
                self._text(array.tobytes())
        elif isinstance(value, tuple | list):
            self._text("sequence", len(value))
            self._all(value)
        elif isinstance(value, dict):
            self._text("mapping", len(value))
            self._all(part for pair in value.items() for part in pair)
        elif isinstance(value, NameAttrList):
            self._function(value)
        elif isinstance(value, DatasetBase):
            self._text("dataset")
            self._all([list(value.types), list(value.shapes), value.make])
        elif isinstance(value, types.FunctionType):
            self._text("function", value.__module__, value.__qualname__)
            names = value.__code__.co_freevars
            cells = zip(names, value.__closure__ or (), strict=True)
            self._named((name, cell.cell_contents) for name, cell in cells)
            self._all(value.__defaults__ or ())
        elif isinstance(value, functools.partial):
            self._all([value.func, value.args, value.keywords])
        elif isinstance(value, types.MethodType):
            self._all([value.__func__, value.__self__])
        else:
            # The state of caches, generators and similar objects changes, so only their type
            # counts.
            self._text("object", type(value).__module__, type(value).__qualname__)
            if isinstance(value, CapturedFunction) or hasattr(value, "__dataclass_fields__"):
                self._named(sorted(_attributes(value)))

    def _all(self, values: Iterable[Array]) -> None:
        for value in values:
            self._add(value)

    def _named(self, pairs: Iterable[tuple[str, Array]]) -> None:
        for name, value in pairs:
            self._text(name)
            self._add(value)

    def _function(self, function: NameAttrList) -> None:
        """Add the body of a function.

        Its name does not count: the number at its end depends on how many functions were created.
        """
        body = self._library.body_graph_def(function.name, function.attrs)
        self._text("body", len(body.node))
        for node in body.node:
            self._text(node.op, node.name, list(node.input))
            for key in sorted(node.attr):
                attr = node.attr[key]
                if attr.HasField("func"):
                    self._add(NameAttrList(attr.func.name, {}))
                else:
                    self._text(key, attr.SerializeToString(deterministic=True))


def _attributes(value: Array) -> list[tuple[str, Array]]:
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return [*{**found, **getattr(value, "__dict__", {})}.items()]


@register_op(
    "DatasetFingerprint", "input_dataset: variant -> fingerprint: uint64",
    shape=lambda c: [SCALAR_SHAPE], devices=("CPU",),
)  # fmt: skip
def dataset_fingerprint(ctx: OpKernelContext, input_dataset: Variant) -> Array:
    """Return a number that is equal for equal pipelines."""
    return np.uint64(fingerprint(ctx, as_dataset(input_dataset)))
