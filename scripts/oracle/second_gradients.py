"""Answer with second gradients: read pickled samples, write pickled answers.

python scripts/oracle/second_gradients.py  needs TensorFlow; tests/ops/second_gradients.py starts it
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any

import numpy as np
import ops_samples
import tensorflow.compat.v1 as tf

from tests.ops.golden import upstream_gradient


def second_gradients(sample: Any) -> list[Any]:
    """Return second gradients by inputs and incoming gradients, or the class of the error.

    A missing gradient is None.
    """
    with tf.Graph().as_default():
        harness = ops_samples.Harness(sample, "known")
        feeds = harness.feeds
        results = [o for o in harness.op.outputs if o.dtype.is_floating or o.dtype.is_complex]
        sources = [i for i in harness.dense_inputs if i.dtype.is_floating or i.dtype.is_complex]
        try:
            with ops_samples.session() as sess:
                values = sess.run(results, feeds)
                incoming = [tf.placeholder(o.dtype, v.shape) for o, v in zip(results, values)]
                for position, (tensor, value) in enumerate(zip(incoming, values)):
                    feeds[tensor] = upstream_gradient(value, position)
                made = [g for g in tf.gradients(results, sources, incoming) if g is not None]
                first = [tf.convert_to_tensor(one) for one in made]
                if not first:
                    return ["nothing"]
                values = sess.run(first, feeds)
                weights = [upstream_gradient(value, at) for at, value in enumerate(values)]
                second = tf.gradients(
                    first, [*sources, *incoming], [tf.constant(w) for w in weights]
                )
                dense = [None if g is None else tf.convert_to_tensor(g) for g in second]
                found = iter(sess.run([d for d in dense if d is not None], feeds))
                return [None if d is None else np.asarray(next(found)) for d in dense]
        except (
            LookupError,
            TypeError,
            ValueError,
            NotImplementedError,
            tf.errors.OpError,
        ) as error:
            return [type(error).__name__]


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            sample = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(second_gradients(sample), answers)
        answers.flush()


if __name__ == "__main__":
    main()
