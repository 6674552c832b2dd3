"""Further examples of a test: `make test` runs a few, `.ci/run` all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def few(examples: Iterable[Any], count: int) -> list[Any]:
    """Return parameters for a test: those after the first `count` are marked as repeats."""
    return [
        example if number < count else pytest.param(example, marks=pytest.mark.repeats)
        for number, example in enumerate(examples)
    ]
