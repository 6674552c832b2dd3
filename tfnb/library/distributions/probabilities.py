"""Logits and probabilities, and the checks of ``validate_args`` on them and on counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.check_ops import (
    assert_equal,
    assert_less_equal,
    assert_near,
    assert_non_negative,
)
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.cwise_unary_ops import log1p
from tfnb.ops.math.special_math_ops import lgamma
from tfnb.ops.nn.softmax_ops import softmax

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult


def logits_and_probs(
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    multidimensional: bool = False,
    validate_args: bool = False,
    name: str = "get_logits_and_probs",
) -> tuple[Nested, Nested]:
    """Return (logits, probabilities), computed from the one that is given.

    Args:
      logits: log-odds, or logarithms of weights of classes.
      probs: probabilities.
      multidimensional: whether the last dimension is that of the classes.
      validate_args: whether probabilities are checked when the graph runs.
      name: of the scope.

    Raises:
      ValueError: both are given, or neither.
      TypeError: the numbers are not floating point.
    """
    with name_scope(name, values=[probs, logits]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            logits = convert_to_tensor(logits, name="logits")
            if not logits.dtype.is_floating:
                raise TypeError("logits must having floating type.")
            if multidimensional:
                return logits, softmax(logits, name="probs")
            return logits, math_ops.sigmoid(logits, name="probs")
        probs = convert_to_tensor(probs, name="probs")
        if not probs.dtype.is_floating:
            raise TypeError("probs must having floating type.")
        if validate_args:
            probs = _checked_probs(probs, multidimensional)
        with name_scope("logits"):
            if multidimensional:
                return math_ops.log(probs), probs
            return math_ops.log(probs) - log1p(-1.0 * probs), probs


def _checked_probs(probs: TensorLike, multidimensional: bool) -> TensorResult:
    with name_scope("validate_probs"):
        one = array_ops.constant(1.0, probs.dtype)
        checks = [assert_non_negative(probs)]
        if multidimensional:
            total = math_ops.reduce_sum(probs, -1)
            checks.append(assert_near(total, one, message="probs does not sum to 1."))
        else:
            message = "probs has components greater than 1."
            checks.append(assert_less_equal(probs, one, message=message))
        return with_dependencies(checks, probs)


def checked_counts(
    x: TensorLike, name: str = "embed_check_nonnegative_integer_form"
) -> TensorResult:
    """Return numbers that are checked when the graph runs: whole and not negative."""
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        checks = [assert_non_negative(x, message=f"'{x}' must be non-negative.")]
        if not x.dtype.is_integer:
            with name_scope("assert_integer_form", values=[x]):
                from tfnb.core import dtypes

                whole = math_ops.cast(math_ops.cast(x, dtypes.int32), x.dtype)
                checks.append(
                    assert_equal(x, whole, message=f"'{x}' cannot contain fractional components.")
                )
        return with_dependencies(checks, x)


def checked_class(x: TensorLike, largest: int | None = None) -> TensorResult:
    """Return class numbers that are checked when the graph runs: not negative, not too large."""
    with name_scope("embed_check_casting_closed", values=[x]):
        x = convert_to_tensor(x, name="x")
        checks = [assert_non_negative(x, message="Elements must be non-negative.")]
        if largest is not None:
            message = f"Elements cannot exceed {largest}."
            checks.append(assert_less_equal(x, largest, message=message))
        if x.dtype.is_floating:
            from tfnb.core import dtypes

            whole = math_ops.cast(math_ops.cast(x, dtypes.int32), x.dtype)
            checks.append(assert_equal(x, whole, message="Elements must be int32-equivalent."))
        return with_dependencies(checks, x)


def log_combinations(
    n: TensorLike, counts: TensorLike, name: str = "log_combinations"
) -> TensorResult:
    """Return the logarithm of the multinomial coefficient of ``n`` and ``counts``."""
    with name_scope(name, values=[n, counts]):
        n = convert_to_tensor(n, name="n")
        counts = convert_to_tensor(counts, name="counts")
        total = lgamma(n + 1)
        return total - math_ops.reduce_sum(lgamma(counts + 1), axis=[-1])
