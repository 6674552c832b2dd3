"""``tf.cond`` and ``tf.case``: a predicate decides which of several functions a graph computes.

Both branches are built. The predicate's Switches keep the branch that is not taken from running,
and a Merge for each result takes the value of the other one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.library.control_flow.cond_context import CondContext
from tfnb.library.control_flow.control_flow_toggle import builds_functions
from tfnb.library.control_flow.control_flow_values import merge, switch, with_flow
from tfnb.ops.array.identity_ops import identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"tf": ["cond"]}


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Nested] | None = None,
    false_fn: Callable[[], Nested] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Nested:
    """Return the result of ``true_fn()`` where ``pred`` is true, else that of ``false_fn()``.

    Both functions are called once, while the graph is built. The nodes that they make run only if
    their branch is taken; nodes made before run in any case if a branch needs them.

    Args:
      pred: a boolean scalar tensor.
      true_fn: builds one branch.
      false_fn: builds the other; returns the same structure with the same types.
      strict: whether a list or tuple of one value stays one.
      name: a name scope for all new nodes.
      fn1: the old name of ``true_fn``.
      fn2: the old name of ``false_fn``.

    Returns:
      The structure that the functions return.

    Raises:
      TypeError: a function is missing or cannot be called, ``pred`` is a Python bool, or the kinds
        of containers differ.
      ValueError: the functions return None, or values of different number or type.
    """
    true_fn = _one_of(true_fn, fn1, "true_fn", "fn1")
    false_fn = _one_of(false_fn, fn2, "false_fn", "fn2")
    graph = get_default_graph()
    if builds_functions(graph):
        from tfnb.library.control_flow.cond_v2 import cond_v2

        return cond_v2(pred, true_fn, false_fn, name)
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError("'pred' must not be a Python bool.")
        false_side, true_side = switch(pred, pred)
        pivot_true = identity(true_side, name="switch_t")
        pivot_false = identity(false_side, name="switch_f")
        pred = identity(pred, name="pred_id")
        for tensor in (true_side, false_side, pivot_true, pivot_false, pred):
            tensor.graph.prevent_fetching(tensor.op)

        context_true = CondContext(pred, pivot_true, branch=1)
        original_true, result_true = _build(context_true, true_fn, "true_fn")
        context_false = CondContext(pred, pivot_false, branch=0)
        original_false, result_false = _build(context_false, false_fn, "false_fn")
        if not strict:
            original_true = _unpacked(original_true)
            original_false = _unpacked(original_false)
        _check_structures(original_true, original_false, result_true, result_false)
        merged = _merge_results(result_true, result_false)

        if context_true.outer_context is None:  # inner ones are found through the outermost one
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context_true)
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context_false)
        flat = nest.flatten(original_true, expand_composites=True)
        packed = nest.pack_sequence_as(
            original_true,
            [with_flow(like, one) for like, one in zip(flat, merged, strict=True)],
            expand_composites=True,
        )
        return packed if strict else _unpacked(packed)


def _one_of(function: Any, old: Any, name: str, old_name: str) -> Callable[[], Nested]:
    if function is None and old is None:
        raise TypeError(f"cond(): '{name}' argument required")
    if function is not None and old is not None:
        raise TypeError(f"cond(): '{name}' and '{old_name}' may not be set simultaneously.")
    chosen: Callable[[], Any] = old if function is None else function
    if not callable(chosen):
        raise TypeError(f"'{name}' must be callable.")
    return chosen


def _build(
    context: CondContext, function: Callable[[], Nested], name: str
) -> tuple[Nested, Nested]:
    try:
        context.enter()
        original, result = context.build_branch(function)
        if original is None:
            raise ValueError(f"'{name}' must have a return value.")
        context.exit_result(nest.flatten(result, expand_composites=True))
    finally:
        context.exit()
    return original, result


def _unpacked(result: TensorLike) -> TensorResult:
    if isinstance(result, (list, tuple)) and len(result) == 1:
        return result[0]
    return result


def _check_structures(
    one: TensorLike, other: TensorLike, one_result: Any, other_result: Any
) -> None:
    try:
        nest.assert_same_structure(one, other, expand_composites=True)
    except (TypeError, ValueError):
        nest.map_structure(_widen_indices, one, other)
        nest.map_structure(_widen_indices, one_result, other_result)
    else:
        return
    try:
        nest.assert_same_structure(one, other, expand_composites=True)
    except TypeError as error:
        raise TypeError(f"Incompatible return types of 'true_fn' and 'false_fn': {error}") from None
    except ValueError as error:
        raise ValueError(
            f"Incompatible return values of 'true_fn' and 'false_fn': {error}"
        ) from None


def _widen_indices(one: TensorLike, other: TensorLike) -> None:
    """Make the indices of both int64 where two IndexedSlices have indices of different types."""
    from tfnb.ops.array.cast_ops import cast

    if (
        isinstance(one, IndexedSlices)
        and isinstance(other, IndexedSlices)
        and one.indices.dtype is not other.indices.dtype
    ):
        one._indices = cast(one.indices, dtypes.int64)
        other._indices = cast(other.indices, dtypes.int64)


def _merge_results(result_true: Any, result_false: Any) -> list[Tensor]:
    if not result_true:
        raise ValueError("'true_fn' and 'false_fn' must return at least one result.")
    pairs = list(
        zip(
            nest.flatten(result_true, expand_composites=True),
            nest.flatten(result_false, expand_composites=True),
        )
    )
    for if_true, if_false in pairs:
        if if_true.dtype.base_dtype is not if_false.dtype.base_dtype:
            raise ValueError(
                "Outputs of 'true_fn' and 'false_fn' must have the same type(s). Received "
                f"{if_true.dtype.name} from 'true_fn' and {if_false.dtype.name} from 'false_fn'."
            )
    return [merge([if_false, if_true])[0] for if_true, if_false in pairs]
