"""The predictions of a batch, and the end of a session that a generator runs."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def chosen_predictions(predictions: Any, keys: Any) -> Any:
    """Return the predictions with given keys; all if there are no keys.

    Raises:
        ValueError: No prediction has one of the keys, or predictions have no keys.
    """
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    chosen = {key: value for key, value in predictions.items() if key in keys}
    if not chosen:
        raise ValueError(
            f"Expected to run at least one output from {list(predictions)}, provided {keys}."
        )
    return chosen


def examples_of(values: Any) -> Iterator[Any]:
    """Yield the predictions of each example of a batch.

    Raises:
        ValueError: Predictions differ in length.
    """
    if not isinstance(values, dict):
        yield from values
        return
    lengths = {key: value.shape[0] for key, value in values.items()}
    for key, length in lengths.items():
        if length != next(iter(lengths.values())):
            raise ValueError(
                f"Batch length of predictions should be same. {key} has different batch length "
                "than others. Pass yield_single_examples=False to get whole batches."
            )
    for index in range(next(iter(lengths.values()), 0)):
        yield {key: value[index] for key, value in values.items()}


@contextmanager
def closed_in_graph(session: Any, graph: Any) -> Iterator[None]:
    """Close a session at the end of the block, in its graph; the end of the input is no error."""
    session.__enter__()
    try:
        yield
    except BaseException:
        with graph.as_default():
            if not session.__exit__(*sys.exc_info()):
                raise
    else:
        with graph.as_default():
            session.__exit__(None, None, None)
