"""Update rules of optimizers for some rows of variables, as compiled routines, row after row.

Each gives the bits of the sparse form of the rule of that name in ``training_ops.py``: the same
operations in the same order, element by element.  A row that is named repeatedly is updated
repeatedly, in order.  The routines omit rows outside of the variable: callers check indices, but
another op may write to them meanwhile, if they are the value of a variable.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core.compiled.routines import Routine
from tfnb.ops.state.compiled_updates import adagrad, momentum

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array
    from tfnb.ops.state.compiled_updates import type_of_rule


def _followed(loops: Loops, value: str, aim: str, rho: str, rest: str) -> str:
    """Return ``value * rho + aim * rest``."""
    kept = loops.do("fmul float", value, rho)
    return loops.do("fadd float", kept, loops.do("fmul float", aim, rest))


def _rms_prop(loops: Loops, values: list[str], numbers: list[str]) -> list[str]:
    var, ms, mom, grad = values
    lr, rho, factor, epsilon = numbers
    rest = loops.do("fsub float", "1.0", rho)
    ms = _followed(loops, ms, loops.do("fmul float", grad, grad), rho, rest)
    root = loops.call("llvm.sqrt", "float", loops.do("fadd float", ms, epsilon))
    step = loops.do("fdiv float", loops.do("fmul float", grad, lr), root)
    mom = loops.do("fadd float", loops.do("fmul float", mom, factor), step)
    return [loops.do("fsub float", var, mom), ms, mom]


def _ftrl(loops: Loops, values: list[str], numbers: list[str]) -> list[str]:
    """Write the rule for the power -0.5."""
    var, accum, linear, grad = values
    lr, l1, l2, _ = numbers
    grown = loops.do("fadd float", accum, loops.do("fmul float", grad, grad))
    root = loops.call("llvm.sqrt", "float", grown)
    change = loops.do("fsub float", root, loops.call("llvm.sqrt", "float", accum))
    change = loops.do("fmul float", loops.do("fdiv float", change, lr), var)
    linear = loops.do("fsub float", loops.do("fadd float", linear, grad), change)
    # NaN passes the limits, and a limit that is NaN does not count.
    least = loops.do("fneg float", l1)
    held = loops.choose("float", loops.do("fcmp olt float", l1, linear), l1, linear)
    held = loops.choose("float", loops.do("fcmp olt float", held, least), least, held)
    below = loops.do("fdiv float", root, lr)
    below = loops.do("fadd float", below, loops.do("fmul float", "2.0", l2))
    var = loops.do("fdiv float", loops.do("fsub float", held, linear), below)
    return [var, grown, linear]


def _write(loops: Loops, rule: type_of_rule, slots: int, numbers: int) -> None:
    """Write the routine of a rule.

    Its arrays are the variable and its slots, the rows of the gradient, their indices, and the
    numbers of the rule; its sizes count, width, and the rows of the variable.
    """
    count, width, limit = (loops.size(i) for i in range(3))
    grad, indices, given = slots, slots + 1, slots + 2
    of_rule = [loops.load("float", given, str(i)) for i in range(numbers)]
    with loops.loop("0", count) as i:
        row = loops.load("i64", indices, i)
        is_valid = loops.do("icmp ult i64", row, limit)
        target, source = (loops.do("mul i64", one, width) for one in (row, i))
        with loops.loop("0", loops.choose("i64", is_valid, width, "0")) as j:
            to, at = (loops.do("add nuw nsw i64", one, j) for one in (target, source))
            values = [loops.load("float", slot, to) for slot in range(slots)]
            values.append(loops.load("float", grad, at))
            for slot, value in enumerate(rule(loops, values, of_rule)):
                loops.store("float", value, slot, to)


class _Rule(NamedTuple):
    """A rule with its routine.

    Attributes:
      routine: the routine.
      options: the attributes for which it is this rule.
    """

    routine: Routine
    options: Mapping[str, bool]


def _rule(rule: type_of_rule, slots: int, numbers: int, **options: bool) -> _Rule:
    write = partial(_write, rule=rule, slots=slots, numbers=numbers)
    return _Rule(Routine(slots + 3, write), options)


_RULES = {
    "Adagrad": _rule(adagrad, 2, 1, update_slots=True),
    "Ftrl": _rule(_ftrl, 3, 4, multiply_linear_by_lr=False, is_sparse=True),
    "Momentum": _rule(momentum, 2, 2, use_nesterov=False),
    "RMSProp": _rule(_rms_prop, 3, 4, is_sparse=True),
}
# Estimates of the plain way, and the work from which on other threads may run meanwhile.
_SECONDS_OF_CALL, _SECONDS_OF_ELEMENT = 30e-6, 5e-9
_LARGE = 1 << 16


def update(
    name: str,
    arrays: Sequence[Array],
    grad: Array,
    indices: Array,
    numbers: Sequence[Array],
    options: Mapping[str, Any],
) -> bool:
    """Update rows in place; return whether a routine did.

    Args:
      name: the name of the rule.
      arrays: the variable and its slots, of one shape.
      grad: the gradients of the rows.
      indices: the rows, all valid.
      numbers: the other inputs of the rule, without dimensions.
      options: the attributes of the rule.
    """
    rule = _RULES.get(name)
    if rule is None or options != rule.options:
        return False
    if any(one.dtype != np.float32 or not one.flags.c_contiguous for one in (*arrays, grad)):
        return False
    if len({id(one) for one in arrays}) < len(arrays):
        return False
    if name == "Ftrl" and numbers[-1] != np.float32(-0.5):
        return False
    function = rule.routine.find(_SECONDS_OF_CALL + grad.size * _SECONDS_OF_ELEMENT)
    if function is None:
        return False
    count = len(indices)
    given = np.array(numbers, np.float32)
    sizes = np.array([grad.size > _LARGE, count, grad.size // count, len(arrays[0])], np.int64)
    function(*arrays, grad, np.ascontiguousarray(indices, np.int64), given, sizes)
    return True
