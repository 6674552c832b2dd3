"""Features, labels and hooks from the result of an ``input_fn``."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from tfnb.client.public.api import tf
from tfnb.client.training.session_run_hook import SessionRunHook
from tfnb.framework.tensor import Tensor


class DatasetInitializerHook(SessionRunHook):
    """A hook that starts an iterator over the input when a session was made.

    Args:
        iterator: The iterator.
    """

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator
        self._initializer: Any = None

    def begin(self) -> None:
        """Find the op that starts the iterator, before the graph is finalized."""
        self._initializer = self._iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Start the iterator."""
        session.run(self._initializer)


def parse_input_fn_result(result: Any) -> tuple[Any, Any, list[SessionRunHook]]:
    """Return features, labels and hooks of what an ``input_fn`` returned.

    Args:
        result: A dataset, features, or a pair of features and labels.

    Raises:
        ValueError: A list or tuple has not two elements.
        TypeError: The features are None, a function or a generator.
    """
    hooks: list[SessionRunHook] = []
    if isinstance(result, tf.data.Dataset):
        iterator = tf.data.make_initializable_iterator(result)
        hooks.append(DatasetInitializerHook(iterator))
        result = iterator.get_next()
    if isinstance(result, list | tuple):
        if len(result) != 2:
            raise ValueError(
                "input_fn should return (features, labels) as a len 2 tuple. It returned "
                f"{len(result)} elements."
            )
        features, labels = result
    else:
        features, labels = result, None
    _check_structure(features)
    return features, labels, hooks


def _check_structure(features: Any) -> None:
    parts = [None] if features is None else tf.nest.flatten(features)
    for part in parts:
        if part is None or isinstance(part, Generator) or callable(part):
            raise TypeError(
                "input_fn should return a tf.data.Dataset, features, or (features, labels), where "
                "features is a Tensor or a dict of Tensors. It returned features of type "
                f"{type(features).__name__}: {str(features)[:200]}"
            )


def has_dataset_or_queue_runner(structure: Any) -> bool:
    """Return whether an input may end: it reads an iterator, or queue runners fill it."""
    tensors = [one for one in tf.nest.flatten(structure) if isinstance(one, Tensor)]
    if any(tensor.op.type == "IteratorGetNext" for tensor in tensors):
        return True
    return bool(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS))
