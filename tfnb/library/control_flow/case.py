"""``tf.case`` and ``tf.switch_case``: one of several functions, by predicates or by a number."""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.cond import cond
from tfnb.library.control_flow.control_flow_assert import assert_

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {"tf": ["case", "switch_case"]}


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = "case",
) -> Any:
    """Return the result of the first function whose predicate is true, else that of ``default``.

    Args:
      pred_fn_pairs: pairs of a boolean scalar tensor and a function, in a list, tuple or dict.
      default: the function for the case that no predicate is true; without it, that case is an
        error.
      exclusive: whether it is an error that several predicates are true.
      strict: whether a list or tuple of one value stays one.
      name: a name scope for all new nodes.

    Raises:
      TypeError: an argument has an unsupported type.
    """
    predicates, actions = _checked_pairs(pred_fn_pairs, exclusive, name)
    with name_scope(name, "case", [predicates]):
        if default is None:
            default, predicates, actions = _default_action(predicates, actions)
        function = default
        # Built from the end, so that the first predicate is the outermost.
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
) -> tuple[Sequence[Tensor], Sequence[Callable[[], Any]]]:
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


def _assert_at_most_n_true(predicates: Sequence[Tensor], n: int, message: str) -> Any:
    """Return an operation that fails if more than ``n`` predicates are true."""
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
) -> tuple[Callable[[], Any], Sequence[Tensor], Sequence[Callable[[], Any]]]:
    """Return (the last action as a checking default, the other predicates, the other actions)."""
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
) -> Any:
    """Return the result of the function with the number ``branch_index``.

    Always one node that calls one of the functions, also where ``tf.cond`` builds Switch and
    Merge. An index out of range runs ``default``, or the last function if there is no
    ``default``.

    Args:
      branch_index: an integer scalar tensor.
      branch_fns: functions in a list, or pairs of number and function in a list or dict.
      default: the function for all other numbers.
      name: a name scope for all new nodes.

    Raises:
      TypeError: an argument has an unsupported type.
      ValueError: the numbers are not 0, 1, ... or there is no function.
    """
    from tfnb.library.control_flow.cond_v2 import indexed_case

    actions = _checked_branches(branch_index, branch_fns)
    if default is None:
        default = actions.pop()
    with name_scope(name, "case", [branch_index]):
        return indexed_case(branch_index, [*actions, default])


def _checked_branches(index: Any, branches: Any) -> list[Callable[[], Any]]:
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
