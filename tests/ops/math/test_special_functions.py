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
