"""Update rules of optimizers as compiled routines (``core/compiled/routines.py``), in one sweep.

Each gives the bits of the rule of that name in ``in_place_updates.py``: the same operations in the
same order, element by element.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.routines import Routine, run_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array

    # Gets the values of the arrays and the numbers; returns the new values of the first arrays.
    type_of_rule = Callable[[Loops, list[str], list[str]], list[str]]


def _root(loops: Loops, value: str) -> str:
    return loops.call("llvm.sqrt", "float", value)


def _towards(loops: Loops, value: str, aim: str, share: str) -> str:
    """Return ``value + (aim - value) * share``."""
    work = loops.do("fmul float", loops.do("fsub float", aim, value), share)
    return loops.do("fadd float", value, work)


def _adam(loops: Loops, values: list[str], numbers: list[str]) -> list[str]:
    var, m, v, grad = values
    share1, share2, rate, epsilon = numbers
    m = _towards(loops, m, grad, share1)
    v = _towards(loops, v, loops.do("fmul float", grad, grad), share2)
    below = loops.do("fadd float", _root(loops, v), epsilon)
    step = loops.do("fdiv float", loops.do("fmul float", m, rate), below)
    return [loops.do("fsub float", var, step), m, v]


def _rms_prop(loops: Loops, values: list[str], numbers: list[str]) -> list[str]:
    var, ms, mom, grad = values
    share, epsilon, lr, momentum = numbers
    ms = _towards(loops, ms, loops.do("fmul float", grad, grad), share)
    root = _root(loops, loops.do("fadd float", ms, epsilon))
    step = loops.do("fdiv float", loops.do("fmul float", grad, lr), root)
    mom = loops.do("fadd float", loops.do("fmul float", mom, momentum), step)
    return [loops.do("fsub float", var, mom), ms, mom]


def momentum(loops: Loops, values: list[str], numbers: list[str]) -> list[str]:
    """Write the rule of the learning rate and the momentum, without Nesterov's steps."""
    var, accum, grad = values
    lr, factor = numbers
    accum = loops.do("fadd float", loops.do("fmul float", accum, factor), grad)
    return [loops.do("fsub float", var, loops.do("fmul float", accum, lr)), accum]


def adagrad(loops: Loops, values: list[str], numbers: list[str]) -> list[str]:
    """Write the rule of the learning rate."""
    var, accum, grad = values
    accum = loops.do("fadd float", accum, loops.do("fmul float", grad, grad))
    step = loops.do("fmul float", grad, numbers[0])
    step = loops.do("fdiv float", step, _root(loops, accum))
    return [loops.do("fsub float", var, step), accum]


def _gradient_descent(loops: Loops, values: list[str], numbers: list[str]) -> list[str]:
    var, delta = values
    return [loops.do("fsub float", var, loops.do("fmul float", delta, numbers[0]))]


def _write(loops: Loops, rule: type_of_rule, arrays: int, numbers: int) -> None:
    given = [loops.load("float", arrays, str(i)) for i in range(numbers)]
    with loops.loop(loops.size(0), loops.size(1)) as i:
        values = [loops.load("float", array, i) for array in range(arrays)]
        for array, value in enumerate(rule(loops, values, given)):
            loops.store("float", value, array, i)


def _routine(rule: type_of_rule, arrays: int, numbers: int) -> Routine:
    write = partial(_write, rule=rule, arrays=arrays, numbers=numbers)
    return Routine(arrays + 1, write)


ADAM = _routine(_adam, 4, 4)
RMS_PROP = _routine(_rms_prop, 4, 4)
MOMENTUM = _routine(momentum, 3, 2)
ADAGRAD = _routine(adagrad, 3, 1)
GRADIENT_DESCENT = _routine(_gradient_descent, 2, 1)

# Estimates of the plain way, and of an element here.
_SECONDS_OF_CALL, _SECONDS_OF_ELEMENT = 8e-6, 2e-9
_NS_OF_ELEMENT = 1.0


def update(
    routine: Routine, arrays: Sequence[Array], numbers: Callable[[], Sequence[Array]]
) -> bool:
    """Update arrays in place; return whether the routine did.

    Args:
      routine: one of this file.
      arrays: the variable, its slots and the gradient.
      numbers: returns the numbers of the rule.
    """
    size = arrays[0].size
    function = routine.find(_SECONDS_OF_CALL + size * _SECONDS_OF_ELEMENT)
    if function is None:
        return False
    for one in arrays:
        if one.dtype != np.float32 or not one.flags.c_contiguous:
            return False
    run_rows(function, [*arrays, np.array(numbers(), np.float32)], size, _NS_OF_ELEMENT)
    return True
