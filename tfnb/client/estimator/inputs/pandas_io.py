"""``tf.estimator.inputs.pandas_input_fn``: a data frame as the input of an Estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.estimator.inputs.feeding_queue import check_shuffle, dequeued

if TYPE_CHECKING:
    from collections.abc import Callable

EXPORTS = {"estimator.inputs": ["pandas_input_fn"]}


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int | None = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """Return an input function that reads a data frame of pandas.

    Args:
        x: The data frame of features.
        y: The labels: a series or data frame with the same index, or None.
        batch_size: The number of examples of a batch.
        num_epochs: How many epochs; without end if None.
        shuffle: Whether examples are shuffled; must be given.
        queue_capacity: The number of examples in the queue; as many as there are if None.
        num_threads: The number of threads that fill the queue.
        target_column: A name for the labels that is no column of ``x``.

    Raises:
        ValueError: ``shuffle`` is not given, an index differs, or the name is taken.
        TypeError: ``x`` is no data frame, or the name is no string.
    """
    check_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    if not hasattr(x, "columns") or not hasattr(x, "index"):
        raise TypeError(f"x must be a pandas DataFrame; got {type(x).__name__}")
    if y is not None:
        if target_column in x.columns:
            raise ValueError(
                f"Cannot use name {target_column} for target column: DataFrame already has a "
                f"column with that name: {list(x.columns)}"
            )
        if not np.array_equal(x.index, y.index):
            raise ValueError(
                f"Index for x and y are mismatched.\nIndex for x: {x.index}\n"
                f"Index for y: {y.index}\n"
            )
    features = {name: _values(x[name]) for name in x.columns}
    has_names = y is not None and hasattr(y, "columns")
    labels = {} if y is None else {None: y} if not has_names else {name: y[name] for name in y}
    capacity = queue_capacity or (4 * len(x) if shuffle else len(x))

    def input_fn() -> Any:
        # Labels may have names of features, so that places and not names tell them apart.
        columns = [*features.values(), *(_values(one) for one in labels.values())]
        batch = dequeued(
            {str(index): column for index, column in enumerate(columns)},
            batch_size,
            num_epochs,
            bool(shuffle),
            capacity,
            max(capacity // 4, 1),
            num_threads,
        )
        found = dict(zip(features, batch[: len(features)], strict=True))
        if y is None:
            return found
        target = batch[len(features) :]
        return found, dict(zip(labels, target, strict=True)) if has_names else target[0]

    return input_fn


def _values(series: Any) -> np.ndarray:
    """Return the values of a column; text as objects, which any version of pandas has."""
    values = series.to_numpy()
    if values.dtype.kind in "biufc":
        return np.asarray(values)
    return np.asarray([str(value) for value in values], dtype=object)
