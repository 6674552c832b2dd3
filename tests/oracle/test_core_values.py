"""The recorded values of tfnb's core nouns are TensorFlow's."""

from __future__ import annotations

import pytest

from tests.core import golden_values


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a cast that overflows gives one there
@pytest.mark.slow
@pytest.mark.parametrize("name", golden_values.FILES)
def test_recorded_values_are_tensorflows(name: str) -> None:
    """Every recorded line is what the installed TensorFlow gives."""
    from tests.oracle.tensorflow_values import tensorflow_results

    assert golden_values.recorded(name) == tensorflow_results(name)
