"""Calls of functions made of several ops whose values are compared: TensorFlow and ours.

A row is an expression over `tf`, `np` and the names in `NAMES`; it gives tensors, in lists or not,
or what a session can fetch. TensorFlow's own Python reads this file too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_RANDOM = np.random.RandomState(3)
NAMES: dict[str, Any] = {
    "logits": _RANDOM.randn(5, 4, 6).astype(np.float32),
    "labels": np.array([[1, 2, 2], [3, 3, 3], [4, 0, 0], [0, 0, 0]], np.int32),
    "label_length": np.array([3, 3, 1, 0], np.int32),
    "logit_length": np.array([5, 5, 3, 2], np.int32),
    "repeats": np.array([[3, 4, 4, 3], [1, 1, 0, 0], [0, 0, 2, 2]], np.int64),
}

_DENSE = "labels=labels, label_length=label_length, logit_length=logit_length"
_SPARSE = (
    "labels=tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [3, 0]], "
    "tf.constant([1, 2, 3, 4, 2]), [4, 2]), label_length=None, logit_length=logit_length"
)
ROWS = [
    *(
        f"with_gradient(lambda x: tf.nn.ctc_loss_v2(logits=x, {_DENSE}{more}), logits)"
        for more in ("", ", blank_index=-1", ", unique=tf.nn.ctc_unique_labels(labels)")
    ),
    *(
        f"with_gradient(lambda x: tf.nn.ctc_loss_v2(logits=x, {_SPARSE}, blank_index={blank}), "
        "logits)"
        for blank in (0, 5, -1)
    ),
    f"tf.nn.ctc_loss_v2(logits=logits.transpose(1, 0, 2), logits_time_major=False, {_DENSE})",
    "tf.nn.ctc_loss_v2(labels=labels, logits=logits, label_length=label_length, "
    "logit_length=np.array([5, 4, 3, 1]))[2:]",
    "tf.nn.ctc_unique_labels(repeats)",
    "tf.nn.ctc_unique_labels(repeats.astype('int32'))",
    "tf.nn.collapse_repeated(repeats, np.array([4, 3, 4]))",
    "tf.nn.collapse_repeated(repeats, np.array([1, 2, 2], np.int32))",
]


def values(tf: Any, rows: list[str]) -> dict[str, Any]:
    """The arrays that each row gives, by "<row>:<number>"."""
    found: dict[str, Any] = {}

    def with_gradient(function: Any, x: Any) -> Any:
        tensor = tf.constant(x)
        y = function(tensor)
        return y, tf.gradients(y, tensor)

    for row in rows:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(5)
            names = {"tf": tf, "np": np, "with_gradient": with_gradient, **NAMES}
            built = eval(row, names)
            session.run(tf.global_variables_initializer())
            for index, value in enumerate(_flat(session.run(built))):
                found[f"{row}:{index}"] = np.asarray(value)
    return found


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [one for part in value for one in _flat(part)]
    return [value]
