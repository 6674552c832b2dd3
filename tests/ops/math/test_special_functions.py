"""Special functions treat each element of an array separately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tfnb.ops.math import special_functions

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    "function",
    [
        lambda a, x: special_functions.igamma(np, a, x),
        lambda a, x: special_functions.igammac(np, a, x),
        special_functions.igamma_grad_a,
        special_functions.random_gamma_grad,
    ],
    ids=["igamma", "igammac", "igamma_grad_a", "random_gamma_grad"],
)
def test_an_element_does_not_depend_on_its_neighbours(
    function: Callable[[Any, Any], Any],
) -> None:
    """Iterations end for each element where it converges, not with the slowest one."""
    a = np.array([0.25, 2.0, 30.0, 3000.0, 1.0, 0.5])
    x = np.array([5.0, 1.0, 31.0, 2900.0, 0.0, np.inf])
    with np.errstate(all="ignore"):  # as where kernels run
        together = function(a, x)
        alone = [float(function(np.float64(one), np.float64(other))) for one, other in zip(a, x)]
    assert together.tolist() == alone


def test_few_slow_elements_do_not_keep_the_others_in_the_iteration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The work of an iteration is proportional to the elements that have not converged."""
    work = []
    advance = special_functions._series_round

    def counted(state: list[Any], number: int) -> tuple[list[Any], Any]:
        work.append(len(state[0]))
        return advance(state, number)

    monkeypatch.setattr(special_functions, "_series_round", counted)
    special_functions.igamma(np, np.full(1000, 0.5), np.full(1000, 0.5))
    fast = sum(work)
    work.clear()
    a = np.append(np.full(1000, 0.5), 1e5)
    special_functions.igamma(np, a, a)
    assert sum(work) < fast + special_functions._MOST_ROUNDS


def units_between(found: Any, exact: Any) -> Any:
    """Return the distance in units in the last place of float32."""
    return np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float32))


def test_the_error_function_of_single_precision_is_within_two_units() -> None:
    """From the smallest normal numbers to those whose error function is 1, in both signs."""
    steps = np.linspace(0.0, 4.5, 200_001, dtype=np.float32)[1:]
    small = np.logspace(-37, 0, 20_001, dtype=np.float32)
    x = np.concatenate([steps, small, -steps, -small])
    exact = special_functions.erf(np, x.astype(np.float64))
    found = special_functions.erf_of_singles(np, x)
    assert found.dtype == np.float32
    assert units_between(found, exact).max() <= 2
    assert np.abs(found).max() == 1


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (6,)])
def test_the_error_function_keeps_shapes_and_odd_numbers(shape: tuple[int, ...]) -> None:
    """NaN stays NaN, infinity becomes 1, and zeros keep their signs."""
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, -1e38], np.float32)
    wanted = np.array([np.nan, 1, -1, -0.0, 0.0, -1], np.float32)
    x, size = np.resize(odd, shape), int(np.prod(shape))
    with np.errstate(all="ignore"):
        found = special_functions.erf_of_singles(np, x)
    assert found.shape == shape
    np.testing.assert_array_equal(found.reshape(-1), wanted[:size])
    np.testing.assert_array_equal(np.signbit(found).reshape(-1)[1:], np.signbit(wanted[1:size]))
