"""``tf.cond`` and ``tf.case``: one of several functions decides what a graph computes.

Both branches are built; the predicate's Switches keep the one that is not taken from running, and a
Merge for each result takes the value of the one that is.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework import nest
from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.cond_context import CondContext
from tfnb.library.control_flow.control_flow_toggle import builds_functions
from tfnb.library.control_flow.control_flow_values import merge, switch, with_flow
from tfnb.ops.array.identity_ops import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"tf": ["cond", "case", "switch_case"]}


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Nested] | None = None,
    false_fn: Callable[[], Nested] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Nested:
    """What ``true_fn()`` gives where ``pred`` is true, else what ``false_fn()`` gives.

    Both functions are called once, here.  What they make runs only if their branch is taken; what
    was made before is run in any case if a branch needs it.

    Args:
      pred: a boolean scalar tensor.
      true_fn: builds one branch.
      false_fn: builds the other; gives the same structure with the same types.
      strict: whether a list or tuple of one value stays one.
      name: a name scope for all that is made.
      fn1: the old name of ``true_fn``.
      fn2: the old name of ``false_fn``.

    Returns:
      The structure that the functions give.

    Raises:
      TypeError: a function is missing or cannot be called, ``pred`` is a Python bool, or the kinds
        of containers differ.
      ValueError: the functions give nothing, or values of different number or type.
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
    """Makes the indices of both int64 where two IndexedSlices have indices of different types."""
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


# -------------------------------------------------------------------------------------------- case


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = "case",
) -> Nested:
    """What the function of the first predicate gives that is true, else what ``default`` gives.

    Args:
      pred_fn_pairs: pairs of a boolean scalar tensor and a function, in a list, tuple or dict.
      default: the function for the case that no predicate is true; without it that is an error.
      exclusive: whether it is an error that several predicates are true.
      strict: whether a list or tuple of one value stays one.
      name: a name scope for all that is made.

    Raises:
      TypeError: an argument is nothing of the kind.
    """
    predicates, actions = _checked_pairs(pred_fn_pairs, exclusive, name)
    with name_scope(name, "case", [predicates]):
        if default is None:
            default, predicates, actions = _default_action(predicates, actions)
        function = default
        # Nested from the end, so that the first predicate is the outermost.
        for predicate, action in reversed(list(zip(predicates, actions, strict=True))):
            function = functools.partial(
                cond, predicate, true_fn=action, false_fn=function, strict=strict
            )
        if not exclusive:
            return function()
        check = _assert_at_most_n_true(predicates, 1, "Input error: exclusive=True")
        with get_default_graph().control_dependencies([check]):
            return function()


def _checked_pairs(
    pairs: Any, exclusive: bool, name: str | None
) -> tuple[Sequence[Tensor], Sequence[Callable[[], Nested]]]:
    if not isinstance(pairs, (list, tuple, dict)):
        raise TypeError(f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(pairs)}")
    if isinstance(pairs, OrderedDict):
        pairs = list(pairs.items())
    elif isinstance(pairs, dict):
        pairs = sorted(pairs.items(), key=lambda item: item[0].name)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        predicate, function = pair
        if not isinstance(predicate, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {predicate}")
        if predicate.dtype is not dtypes.bool:
            raise TypeError(f"pred must be Tensor of type bool: {predicate.name}")
        if not callable(function):
            raise TypeError(f"fn for pred {predicate.name} must be callable.")
    predicates, actions = zip(*pairs, strict=True)
    return predicates, actions


def _assert_at_most_n_true(predicates: Sequence[Tensor], n: int, message: str) -> TensorResult:
    """An operation that fails if more than ``n`` predicates are true."""
    from tfnb.library.control_flow.control_flow_assert import assert_
    from tfnb.ops.array.cast_ops import cast
    from tfnb.ops.array.concat_ops import stack
    from tfnb.ops.array.constant_ops import constant
    from tfnb.ops.math.comparison_ops import less_equal
    from tfnb.ops.math.reduction_ops import reduce_sum

    stacked = stack(predicates, name="preds_c")
    num_true = reduce_sum(cast(stacked, dtypes.int32), name="num_true_conds")
    condition = less_equal(num_true, constant(n, name="n_true_conds"))
    names = ", ".join(predicate.name for predicate in predicates)
    text = f"{message}: more than {n} conditions ({names}) evaluated as True:"
    return assert_(condition, [text, stacked], summarize=len(predicates))


def _default_action(
    predicates: Sequence[Tensor], actions: Sequence[Callable[[], Any]]
) -> tuple[Callable[[], Nested], Sequence[Tensor], Sequence[Callable[[], Nested]]]:
    """The last action as the default, which then checks its predicate; and the others."""
    from tfnb.library.control_flow.control_flow_assert import assert_
    from tfnb.ops.array.concat_ops import stack

    last = len(predicates) - 1
    others = predicates[:last]

    def default() -> Any:
        text = (
            f"Implementation error: selected default action #{last} was called, but some of other "
            "predicates are True: "
        )
        data = [
            "Input error: None of conditions evaluated as True:",
            stack(predicates, name="preds_c"),
        ]
        checks = [_assert_at_most_n_true(others, 0, text), assert_(predicates[last], data)]
        with get_default_graph().control_dependencies(checks):
            return actions[last]()

    return default, others, actions[:last]


def switch_case(
    branch_index: Tensor,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str | None = "switch_case",
) -> Nested:
    """What the function with the number ``branch_index`` gives.

    One node that calls one of the functions, whatever conds are built from; an index out of range
    takes ``default``, without that the last function.

    Args:
      branch_index: an integer scalar tensor.
      branch_fns: functions in a list, or pairs of number and function in a list or dict.
      default: the function for all other numbers.
      name: a name scope for all that is made.

    Raises:
      TypeError: an argument is nothing of the kind.
      ValueError: the numbers are not 0, 1, ... or there is no function.
    """
    from tfnb.library.control_flow.cond_v2 import indexed_case

    actions = _checked_branches(branch_index, branch_fns)
    if default is None:
        default = actions.pop()
    with name_scope(name, "case", [branch_index]):
        return indexed_case(branch_index, [*actions, default])


def _checked_branches(index: TensorLike, branches: Any) -> list[Callable[[], Nested]]:
    if not isinstance(index, Tensor):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(index)}")
    if not index.dtype.is_integer:
        raise TypeError(f"'branch_index' must be an integer Tensor, got {index.dtype}")
    if not branches:
        raise ValueError("Must provide at least one item in 'branch_fns'")
    if not isinstance(branches, (list, tuple, dict)):
        raise TypeError("'branch_fns' must be a list, tuple, or dict")
    pairs = list(branches.items()) if isinstance(branches, dict) else list(branches)
    if all(callable(one) for one in pairs):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'branch_fns' must be a 2-tuple. Received {pair}.")
        if not isinstance(pair[0], int):
            raise TypeError(f"key must be a Python `int`, got {type(pair[0])}")
        if not callable(pair[1]):
            raise TypeError(f"fn for key {pair[0]} must be callable.")
    keys = sorted(pair[0] for pair in pairs)
    if keys != list(range(len(keys))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(keys)}) but found "
            f"{{{','.join(map(str, keys))}}}"
        )
    return [function for _, function in sorted(pairs, key=lambda pair: pair[0])]
