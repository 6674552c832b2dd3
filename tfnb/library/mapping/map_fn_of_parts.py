"""``tf.map_fn`` over composite tensors, ragged or sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.framework.structures.composite_tensor import is_composite
from tfnb.library.control_flow.map_fn import map_fn
from tfnb.library.data.structure import spec_of
from tfnb.library.data.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import Nested, TensorLike


def map_fn_of_parts(
    fn: Callable[..., Nested], elems: Nested, signature: Any, name: str | None, **options: Any
) -> Nested:
    """Apply :func:`map_fn` where elements or results are ragged or sparse, or results have specs.

    In the loop a composite tensor is one variant for each element.
    """
    flat = nest.flatten(elems)
    specs = [spec_of(one) if is_composite(one) else None for one in flat]
    if signature is None:
        dense = [None if spec else convert_to_tensor(one).dtype for one, spec in zip(flat, specs)]
        signature = nest.pack_sequence_as(
            elems, [spec.unbatched() if spec else dtype for spec, dtype in zip(specs, dense)]
        )
    wanted = [one if hasattr(one, "flat_type") else None for one in nest.flatten(signature)]
    types = [
        one if spec is None else spec.flat_type
        for one, spec in zip(nest.flatten(signature), wanted)
    ]

    def compute(parts: list[TensorLike]) -> list[Nested]:
        values = [
            one if spec is None else spec.unbatched().from_component(one)
            for one, spec in zip(parts, specs)
        ]
        result = fn(nest.pack_sequence_as(elems, values))
        nest.assert_same_structure(signature, result)
        return [
            one if spec is None else spec.to_component(one)
            for one, spec in zip(nest.flatten(result), wanted)
        ]

    with name_scope(name, "map", flat):
        rows = [one if spec is None else spec.to_rows(one) for one, spec in zip(flat, specs)]
        stacked = map_fn(compute, rows, types, name="map", **options)
        number = next((spec.shape[0].value for spec in specs if spec and spec.shape.rank), None)
        found = []
        for one, spec in zip(stacked, wanted):
            if isinstance(spec, TensorSpec):
                one.set_shape(spec.batched(None).shape)
            if spec is None or isinstance(spec, TensorSpec):
                found.append(one)
            else:
                found.append(spec.batched(number).from_component(one))
        return nest.pack_sequence_as(signature, found)
