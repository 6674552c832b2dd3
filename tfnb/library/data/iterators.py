"""The public iterators, which read the elements of datasets into a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tfnb.core import dtypes
from tfnb.framework import random_seed
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.functions.function import DefinedFunction
from tfnb.framework.scopes import colocate_with, name_scope
from tfnb.framework.structures import nest
from tfnb.library.data.attributes import flat_attrs
from tfnb.library.data.optional import Optional
from tfnb.library.data.structure import (
    flat_specs,
    from_components,
    legacy_classes,
    legacy_shapes,
    legacy_types,
    spec_from_legacy,
)
from tfnb.ops.dataset import iterator_ops

if TYPE_CHECKING:
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike

EXPORTS = {
    "data": ["Iterator", "make_initializable_iterator", "make_one_shot_iterator"],
    "data.experimental": ["get_next_as_optional"],
}

_GET_NEXT_TIMES = 32


class IteratedDataset(Protocol):
    """The members of a dataset that an iterator uses."""

    _variant_tensor: Tensor
    element_spec: Any


class Iterator:
    """A position in a dataset.

    Args:
      iterator_resource: the handle.
      initializer: the operation that sets it to the beginning; None if there is none.
      element_spec: of the elements.
    """

    def __init__(
        self, iterator_resource: Tensor, initializer: Operation | None, element_spec: Nested
    ) -> None:
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self.element_spec = element_spec
        self._string_handle: Tensor = iterator_ops.iterator_to_string_handle(iterator_resource)
        self._num_get_next = 0

    @staticmethod
    def from_structure(
        output_types: Nested,
        output_shapes: Nested | None = None,
        shared_name: str | None = None,
        output_classes: Nested | None = None,
    ) -> Iterator:
        """Return an iterator without a dataset, which :meth:`make_initializer` sets.

        Args:
          output_types: a structure of dtypes.
          output_shapes: a structure of shapes, of the same form.
          shared_name: a name under which several nodes share one iterator.
          output_classes: a structure of classes.
        """
        spec = spec_from_legacy(output_types, output_shapes, output_classes)
        resource = iterator_ops.iterator_v2(
            container="", shared_name=shared_name or "", **flat_attrs(spec)
        )
        return Iterator(resource, None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: TensorLike,
        output_types: Nested,
        output_shapes: Nested | None = None,
        output_classes: Nested | None = None,
    ) -> Iterator:
        """Return the iterator whose handle is fed as text; see :meth:`string_handle`."""
        spec = spec_from_legacy(output_types, output_shapes, output_classes)
        text = convert_to_tensor(string_handle, dtypes.string)
        resource = iterator_ops.iterator_from_string_handle_v2(text, **flat_attrs(spec))
        return Iterator(resource, None, spec)

    @property
    def initializer(self) -> Operation:
        """The operation that sets the iterator to the beginning of its dataset.

        Raises:
          ValueError: the iterator has no initializer.
        """
        if self._initializer is None:
            raise ValueError(
                "The iterator does not have an initializer. This means it was likely created using "
                "`tf.data.Dataset.make_one_shot_iterator()`. For an initializable iterator, use "
                "`tf.data.Dataset.make_initializable_iterator()` instead."
            )
        return self._initializer

    def make_initializer(self, dataset: IteratedDataset, name: str | None = None) -> Operation:
        """Return an operation that sets the iterator to the beginning of ``dataset``.

        Raises:
          TypeError: the dataset's elements have other types.
          ValueError: they have another structure.
        """
        with name_scope(name, "make_initializer") as scope:
            _check_compatible(dataset.element_spec, self.element_spec)
            with colocate_with(self._iterator_resource):
                op: Operation = iterator_ops.make_iterator(
                    dataset._variant_tensor, self._iterator_resource, name=scope
                )
                return op

    def get_next(self, name: str | None = None) -> Nested:
        """Return the next element, as tensors: each run that needs one of them takes one element.

        Call it once and use the tensors again and again: in a loop it makes new operations.
        """
        self._num_get_next += 1
        if self._num_get_next > _GET_NEXT_TIMES:
            import warnings

            warnings.warn(
                "An unusually high number of `Iterator.get_next()` calls was detected. This often "
                "indicates that `Iterator.get_next()` is being called inside a training loop, "
                "which will cause gradual slowdown and eventual resource exhaustion. If this is "
                "the case, restructure your code to call `next_element = iterator.get_next()` "
                "once outside the loop, and use `next_element` as the input to some computation "
                "that is invoked inside the loop.",
                stacklevel=2,
            )
        with colocate_with(self._iterator_resource):
            results = iterator_ops.iterator_get_next(
                self._iterator_resource, name=name, **flat_attrs(self.element_spec)
            )
            return from_components(self.element_spec, results)

    def get_next_as_optional(self) -> Optional:
        """Return the next element as an :class:`Optional`, which is empty after the last one."""
        return get_next_as_optional(self)

    def string_handle(self, name: str | None = None) -> Tensor:
        """Return the handle as text, to feed to the iterator of :meth:`from_string_handle`."""
        if name is None:
            return self._string_handle
        text: Tensor = iterator_ops.iterator_to_string_handle(self._iterator_resource, name=name)
        return text

    @property
    def output_types(self) -> Nested:
        """A structure of the dtypes of an element."""
        return legacy_types(self.element_spec)

    @property
    def output_shapes(self) -> Nested:
        """A structure of the static shapes of an element."""
        return legacy_shapes(self.element_spec)

    @property
    def output_classes(self) -> Nested:
        """A structure of the classes of an element."""
        return legacy_classes(self.element_spec)


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Return the next element of an iterator as an optional, which is empty at the end."""
    with colocate_with(iterator._iterator_resource):
        variant = iterator_ops.iterator_get_next_as_optional(
            iterator._iterator_resource, **flat_attrs(iterator.element_spec)
        )
        return Optional(variant, iterator.element_spec)


def _check_compatible(found: Any, wanted: Any) -> None:
    nest.assert_same_structure(wanted, found)
    for one, other in zip(flat_specs(wanted), flat_specs(found)):
        if type(one) is not type(other):
            raise TypeError(
                f"Expected output classes {legacy_classes(wanted)!r} but got dataset with output "
                f"classes {legacy_classes(found)!r}."
            )
        if one.flat_type is not other.flat_type or getattr(one, "dtype", None) is not getattr(
            other, "dtype", None
        ):
            raise TypeError(
                f"Expected output types {legacy_types(wanted)!r} but got dataset with output types "
                f"{legacy_types(found)!r}."
            )
        if not one.is_compatible_with(other):
            raise TypeError(
                f"Expected output shapes compatible with {legacy_shapes(wanted)!r} but got dataset "
                f"with output shapes {legacy_shapes(found)!r}."
            )


def make_initializable_iterator(
    dataset: IteratedDataset, shared_name: str | None = None
) -> Iterator:
    """Return an iterator that is used after ``session.run(iterator.initializer)``.

    Running the initializer again sets it back to the beginning.

    Args:
      dataset: the dataset to iterate over.
      shared_name: a name under which the nodes of several sessions share one iterator.

    Raises:
      ValueError: the dataset belongs to another graph.
    """
    if dataset._variant_tensor.graph is not get_default_graph():
        raise ValueError(
            "Dataset and its iterator must be created in the same graph; the default graph is "
            "another one than the dataset's."
        )
    with colocate_with(dataset._variant_tensor):
        resource = iterator_ops.iterator_v2(
            container="", shared_name=shared_name or "", **flat_attrs(dataset.element_spec)
        )
        initializer = iterator_ops.make_iterator(dataset._variant_tensor, resource)
        return Iterator(resource, initializer, dataset.element_spec)


def make_one_shot_iterator(dataset: IteratedDataset) -> Iterator:
    """Return an iterator that goes once through a dataset and needs no initialization.

    Raises:
      ValueError: the dataset uses a placeholder, or a resource such as a variable or table.
    """
    graph_seed, op_seed = random_seed.get_seed(None)

    def _make_dataset() -> Tensor:
        if graph_seed is not None:
            assert op_seed is not None
            random_seed.set_random_seed((graph_seed + 87654321 * op_seed) % (2**63 - 1))
        return dataset._variant_tensor

    # Part of the FunctionDef, in TensorFlow's words.
    _make_dataset.__doc__ = "Factory function for a dataset."
    factory = DefinedFunction(
        _make_dataset,
        [],
        [],
        capture_by_value=True,
        allowlisted_stateful_ops=_dataset_ops(dataset._variant_tensor),
    )
    try:
        factory.add_to_graph(get_default_graph())
    except ValueError as error:
        if "Cannot capture a stateful node" not in str(error):
            if "Cannot capture a placeholder" not in str(error):
                raise
            raise ValueError(
                f"Cannot create a one-shot iterator for a dataset that captures a placeholder: "
                f"{error} Use `tf.compat.v1.data.make_initializable_iterator()` instead."
            ) from None
        raise ValueError(
            f"{error}: A likely cause of this error is that the dataset for which you are calling "
            "`make_one_shot_iterator()` captures a stateful object, such as a `tf.Variable` or "
            "`tf.lookup.StaticHashTable`, which is not supported. Use "
            "`make_initializable_iterator()` instead."
        ) from None
    with colocate_with(dataset._variant_tensor):
        resource = iterator_ops.one_shot_iterator(
            dataset_factory=factory, **flat_attrs(dataset.element_spec)
        )
        return Iterator(resource, None, dataset.element_spec)


def _dataset_ops(variant: Tensor) -> list[Operation]:
    """Return all operations behind a dataset that produce datasets."""
    found: dict[Operation, None] = {}
    stack = [variant.op]
    while stack:
        op = stack.pop()
        if op in found:
            continue
        found[op] = None
        stack += [tensor.op for tensor in op.inputs if tensor.dtype is dtypes.variant]
    return [*found]
