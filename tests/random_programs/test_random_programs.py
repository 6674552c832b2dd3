"""Stored random programs of ops with state: every run gives TensorFlow's results.

``python -m tests.random_programs PYTHON --store`` stores TensorFlow's answers again; without
``--store`` it makes fresh programs.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from tests.random_programs.checks import answer, difference
from tests.random_programs.programs import load
from tests.random_programs.stored import read

if TYPE_CHECKING:
    from tests.random_programs.programs import type_of_program


@cache
def _stored() -> dict[str, list[tuple[type_of_program, list[Any]]]]:
    return read()


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(load()))
def test_programs_run_as_in_tensorflow(family: str) -> None:
    """Values and classes of errors are compared run by run."""
    for number, (program, wanted) in enumerate(_stored()[family]):
        found = difference(answer(program), wanted, program["steps"])
        assert not found, f"{family}, program {number}: {found}"


def test_programs_do_more_than_fail() -> None:
    """Each family has many stored runs that give values."""
    assert set(_stored()) == set(load())
    for family, rows in _stored().items():
        good = sum(not isinstance(one, str) for _, wanted in rows for one in wanted)
        assert good >= 5, family
