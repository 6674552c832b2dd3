"""``tf.estimator.inputs.numpy_input_fn``: arrays as the input of an Estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.estimator.inputs.feeding_queue import check_shuffle, dequeued

if TYPE_CHECKING:
    from collections.abc import Callable

EXPORTS = {"estimator.inputs": ["numpy_input_fn"]}

_ONLY_FEATURE = "__direct_np_input__"
_TARGET = "__target_key__"


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """Return an input function that reads arrays.

    Args:
        x: An array, or a dictionary of them.
        y: The labels: an array, a dictionary of them, or None.
        batch_size: The number of examples of a batch.
        num_epochs: How many epochs; without end if None.
        shuffle: Whether examples are shuffled; must be given.
        queue_capacity: The number of examples in the queue.
        num_threads: The number of threads that fill the queue.

    Raises:
        ValueError: ``shuffle`` is not given. When the function is called: an argument is empty,
            lengths differ, or features and labels have a common key.
        TypeError: When the function is called: ``x`` is neither an array nor a dictionary.
    """
    check_shuffle(shuffle)

    def input_fn() -> Any:
        features = _features(x)
        labels = _labels(y, features)
        columns = {**features, **labels}
        _check_lengths(features, labels)
        batch = dequeued(
            columns, batch_size, num_epochs, bool(shuffle), queue_capacity, None, num_threads
        )
        tensors = dict(zip(columns, batch, strict=True))
        found = (
            tensors[_ONLY_FEATURE]
            if isinstance(x, np.ndarray)
            else {k: tensors[k] for k in features}
        )
        if y is None:
            return found
        if isinstance(y, dict):
            return found, {key: tensors[key] for key in labels}
        return found, tensors[next(iter(labels))]

    return input_fn


def _features(x: Any) -> dict[str, np.ndarray]:
    if isinstance(x, dict):
        if not x:
            raise ValueError("x cannot be an empty dict")
        return {key: np.asarray(x[key]) for key in sorted(x)}
    if isinstance(x, np.ndarray):
        if x.size == 0:
            raise ValueError("x cannot be an empty array")
        return {_ONLY_FEATURE: x}
    raise TypeError(f"x must be a dict or array; got {type(x).__name__}")


def _labels(y: Any, features: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    if y is None:
        return {}
    if not isinstance(y, dict):
        key = _TARGET
        while key in features:
            key += "_n"
        return {key: np.asarray(y)}
    if not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    common = sorted(set(features) & set(y))
    if common:
        raise ValueError(f"{len(common)} duplicate keys are found in both x and y: {common}")
    return {key: np.asarray(y[key]) for key in sorted(y)}


def _check_lengths(features: dict[str, np.ndarray], labels: dict[str, np.ndarray]) -> None:
    for array in (*features.values(), *labels.values()):
        if array.ndim == 0:
            raise ValueError("x and y must be arrays of examples; got a scalar.")
    if len({len(array) for array in (*features.values(), *labels.values())}) > 1:
        raise ValueError(
            "Length of tensors in x and y is mismatched. All elements in x and y must have the "
            f"same length.\nShapes in x: { {k: v.shape for k, v in features.items()} }\n"
            f"Shapes in y: { {k: v.shape for k, v in labels.items()} }\n"
        )
