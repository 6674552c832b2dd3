"""Keras for the tests of this folder, imported once for each file."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tfnb.as_tensorflow.finder import served

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def imported_keras(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Import Keras from the finder; its settings are in a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch, served():
        patch.setenv("KERAS_HOME", str(tmp_path_factory.mktemp("keras")))
        yield importlib.import_module("keras")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it."""
    return importlib.import_module("tensorflow")


@pytest.fixture
def keras(imported_keras: Any, tf: Any) -> Iterator[Any]:
    """Return Keras, with a graph and a session of the test's own."""
    with tf.Graph().as_default() as graph:
        graph.seed = 1
        # Keras takes the seeds of weights, and the order of rows, from NumPy's own generator.
        np.random.seed(1)  # noqa: NPY002
        yield imported_keras
        imported_keras.backend.get_session().close()
