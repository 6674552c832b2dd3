"""Losses and metrics of either library: their graphs and their values over three batches.

``outline(tf, name)`` builds the scenario with ``tf``, which is TensorFlow or tfnb.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.exact_numbers import RandomNumbers

if TYPE_CHECKING:
    from collections.abc import Callable

BATCHES = 3
ROWS, CLASSES = 6, 4


def data(seed: int) -> dict[str, Any]:
    """Return one batch of data for all scenarios."""
    rng = RandomNumbers(seed)
    return {
        "floats": rng.normal(size=(ROWS, CLASSES)).astype(np.float32),
        "targets": rng.normal(size=(ROWS, CLASSES)).astype(np.float32),
        "parts": rng.random_sample((ROWS, CLASSES)).astype(np.float32),
        "bits": rng.randint(0, 2, (ROWS, CLASSES)).astype(np.float32),
        "onehot": np.eye(CLASSES, dtype=np.float32)[rng.randint(0, CLASSES, ROWS)],
        "classes": rng.randint(0, CLASSES, ROWS),
        "guesses": rng.randint(0, CLASSES, ROWS),
        "some": rng.randint(0, CLASSES + 1, (ROWS, 2)),
        "weights": rng.randint(0, 3, (ROWS, CLASSES)).astype(np.float32),
        "row_weights": rng.randint(0, 3, (ROWS, 1)).astype(np.float32),
        "vector_weights": rng.randint(0, 3, ROWS).astype(np.float32),
    }


SCENARIOS: dict[str, Any] = {}


def scenario(name: str, build: Callable[[Any, Callable[..., Any]], Any]) -> None:
    """Add a scenario; ``build(tf, feed)`` returns tensors, ``feed(name, shape)`` a placeholder."""
    assert name not in SCENARIOS
    SCENARIOS[name] = build


# -- losses ---------------------------------------------------------------------------------------

_PAIRS = {
    "absolute_difference": ("targets", "floats"),
    "hinge_loss": ("bits", "floats"),
    "huber_loss": ("targets", "floats"),
    "log_loss": ("bits", "parts"),
    "mean_pairwise_squared_error": ("targets", "floats"),
    "mean_squared_error": ("targets", "floats"),
    "sigmoid_cross_entropy": ("bits", "floats"),
}


def _loss(name: str, labels: str, predictions: str, weights: Any, tf: Any, feed: Any) -> Any:
    given = {} if weights is None else {"weights": feed(weights)}
    return getattr(tf.losses, name)(feed(labels), feed(predictions), **given)


for _name, (_labels, _predictions) in _PAIRS.items():
    for _weights in (None, "weights", "row_weights"):
        if _name == "mean_pairwise_squared_error" and _weights == "weights":
            continue

        def _build(tf: Any, feed: Any, name=_name, pair=(_labels, _predictions), weights=_weights):  # type: ignore[no-untyped-def]
            given = {} if weights is None else {"weights": feed(weights)}
            return getattr(tf.losses, name)(feed(pair[0]), feed(pair[1]), **given)

        scenario(f"losses.{_name} {_weights}", _build)

for _kind in (
    "none", "weighted_sum", "weighted_mean", "weighted_sum_over_batch_size",
    "weighted_sum_by_nonzero_weights",
):  # fmt: skip

    def _build(tf: Any, feed: Any, kind: str = _kind) -> Any:
        return tf.losses.compute_weighted_loss(feed("floats"), feed("weights"), reduction=kind)

    scenario(f"losses.compute_weighted_loss {_kind}", _build)

scenario(
    "losses.compute_weighted_loss unknown shapes",
    lambda tf, feed: tf.losses.compute_weighted_loss(feed("floats", None), feed("weights", None)),
)
scenario(
    "losses.cosine_distance",
    lambda tf, feed: tf.losses.cosine_distance(feed("targets"), feed("floats"), axis=1),
)
scenario(
    "losses.huber_loss delta",
    lambda tf, feed: tf.losses.huber_loss(feed("targets"), feed("floats"), delta=0.5, scope="h"),
)
scenario(
    "losses.sigmoid_cross_entropy smooth",
    lambda tf, feed: tf.losses.sigmoid_cross_entropy(
        feed("bits"), feed("floats"), label_smoothing=0.2
    ),
)
scenario(
    "losses.softmax_cross_entropy",
    lambda tf, feed: tf.losses.softmax_cross_entropy(
        feed("onehot"), feed("floats"), feed("vector_weights")
    ),
)
scenario(
    "losses.softmax_cross_entropy smooth",
    lambda tf, feed: tf.losses.softmax_cross_entropy(
        feed("onehot"), feed("floats"), label_smoothing=0.1
    ),
)
scenario(
    "losses.sparse_softmax_cross_entropy",
    lambda tf, feed: tf.losses.sparse_softmax_cross_entropy(feed("classes"), feed("floats")),
)
scenario(
    "losses.sparse_softmax_cross_entropy weights",
    lambda tf, feed: tf.losses.sparse_softmax_cross_entropy(
        tf.expand_dims(feed("classes"), 1), feed("floats"), feed("row_weights")
    ),
)
scenario(
    "losses.sparse_softmax_cross_entropy unknown",
    lambda tf, feed: tf.losses.sparse_softmax_cross_entropy(
        feed("classes", None), feed("floats", None), feed("vector_weights", None)
    ),
)


def _total(tf: Any, feed: Any) -> Any:
    tf.losses.mean_squared_error(feed("targets"), feed("floats"))
    tf.losses.add_loss(tf.reduce_sum(feed("parts")))
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.reduce_mean(feed("bits")))
    return [
        tf.losses.get_total_loss(),
        tf.losses.get_regularization_loss(),
        tf.losses.get_total_loss(False, "without"),
        *tf.losses.get_losses("mean"),
    ]


scenario("losses.get_total_loss", _total)
scenario(
    "losses.get_regularization_loss none", lambda tf, feed: tf.losses.get_regularization_loss()
)
scenario(
    "nn.compute_average_loss", lambda tf, feed: tf.nn.compute_average_loss(feed("vector_weights"))
)
scenario(
    "nn.compute_average_loss weights",
    lambda tf, feed: tf.nn.compute_average_loss(
        feed("vector_weights"), sample_weight=feed("row_weights"), global_batch_size=12
    ),
)
scenario(
    "nn.scale_regularization_loss",
    lambda tf, feed: tf.nn.scale_regularization_loss(feed("weights")),
)

# -- confusion matrix -----------------------------------------------------------------------------

scenario("confusion_matrix", lambda tf, feed: tf.confusion_matrix(feed("classes"), feed("guesses")))
scenario(
    "confusion_matrix weights",
    lambda tf, feed: tf.confusion_matrix(
        feed("classes", None), feed("guesses"), CLASSES, tf.float32, "cm", feed("vector_weights")
    ),
)

# -- metrics --------------------------------------------------------------------------------------

_METRICS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "accuracy": (("classes", "guesses"), {}),
    "auc": (("bits", "parts"), {"num_thresholds": 20}),
    "false_negatives": (("bits", "parts"), {}),
    "false_negatives_at_thresholds": (("bits", "parts"), {"thresholds": [0.1, 0.5]}),
    "false_positives": (("bits", "weights"), {}),
    "false_positives_at_thresholds": (("bits", "parts"), {"thresholds": [0.1, 0.5]}),
    "mean": (("floats",), {}),
    "mean_absolute_error": (("targets", "floats"), {}),
    "mean_cosine_distance": (("targets", "floats"), {"dim": 1}),
    "mean_iou": (("classes", "guesses"), {"num_classes": CLASSES}),
    "mean_per_class_accuracy": (("classes", "guesses"), {"num_classes": CLASSES}),
    "mean_relative_error": (("targets", "floats"), {"normalizer": "bits"}),
    "mean_squared_error": (("targets", "floats"), {}),
    "mean_tensor": (("floats",), {}),
    "percentage_below": (("floats",), {"threshold": 0.1}),
    "precision": (("bits", "weights"), {}),
    "precision_at_thresholds": (("bits", "parts"), {"thresholds": [0.1, 0.5]}),
    "recall": (("bits", "weights"), {}),
    "recall_at_thresholds": (("bits", "parts"), {"thresholds": [0.1, 0.5]}),
    "root_mean_squared_error": (("targets", "floats"), {}),
    "sensitivity_at_specificity": (("bits", "parts"), {"specificity": 0.6, "num_thresholds": 20}),
    "specificity_at_sensitivity": (("bits", "parts"), {"sensitivity": 0.6, "num_thresholds": 20}),
    "true_negatives": (("bits", "weights"), {}),
    "true_negatives_at_thresholds": (("bits", "parts"), {"thresholds": [0.1, 0.5]}),
    "true_positives": (("bits", "weights"), {}),
    "true_positives_at_thresholds": (("bits", "parts"), {"thresholds": [0.1, 0.5]}),
    "average_precision_at_k": (("some", "floats"), {"k": 2}),
    "sparse_average_precision_at_k": (("some", "floats"), {"k": 1}),
    "precision_at_k": (("some", "floats"), {"k": 2}),
    "sparse_precision_at_k": (("some", "floats"), {"k": 3, "class_id": 1}),
    "recall_at_k": (("some", "floats"), {"k": 2}),
}
_OF_VECTORS = ("accuracy", "mean_iou", "mean_per_class_accuracy")


def _metric(
    name: str, inputs: tuple[str, ...], options: dict[str, Any], weights: Any
) -> Callable[[Any, Any], Any]:
    def build(tf: Any, feed: Any) -> Any:
        given = {k: feed(v) if isinstance(v, str) else v for k, v in options.items()}
        if weights is not None:
            given["weights"] = feed(weights)
        return getattr(tf.metrics, name)(
            *map(feed, inputs), metrics_collections="m", updates_collections="u", **given
        )

    return build


for _name, (_inputs, _options) in _METRICS.items():
    if _name in _OF_VECTORS or "_at_k" in _name:
        _choices: tuple[str | None, ...] = (None, "vector_weights")
    elif _name == "mean_cosine_distance":
        _choices = (None, "row_weights")
    else:
        _choices = (None, "weights", "row_weights")
    if _name in ("true_positives", "true_negatives", "false_positives", "false_negatives"):
        _choices = (None, "weights")
    for _chosen in _choices:
        scenario(f"metrics.{_name} {_chosen}", _metric(_name, _inputs, _options, _chosen))

for _method in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
    scenario(
        f"metrics.auc PR {_method}",
        lambda tf, feed, method=_method: tf.metrics.auc(
            feed("bits"),
            feed("parts"),
            curve="PR",
            thresholds=[0.2, 0.7, 0.4],
            summation_method=method,
            name="area",
        ),
    )

scenario(
    "metrics.mean unknown shapes",
    lambda tf, feed: tf.metrics.mean(feed("floats", None), feed("weights", None)),
)
scenario(
    "metrics.accuracy unknown shapes",
    lambda tf, feed: tf.metrics.accuracy(
        feed("classes", None), feed("guesses", None), feed("vector_weights", None)
    ),
)
scenario(
    "metrics.auc unknown rows",
    lambda tf, feed: tf.metrics.auc(
        feed("bits", [None, CLASSES]), feed("parts", [None, CLASSES]), num_thresholds=5
    ),
)
scenario(
    "metrics.precision_at_top_k",
    lambda tf, feed: tf.metrics.precision_at_top_k(
        feed("some"), tf.argsort(feed("floats"))[:, :2], class_id=2
    ),
)
scenario(
    "metrics.recall_at_top_k single label",
    lambda tf, feed: tf.metrics.recall_at_top_k(
        feed("classes"), tf.argsort(feed("floats"))[:, :2], k=2
    ),
)


def _sparse(tf: Any, feed: Any) -> Any:
    """Return the labels below the number of classes, as a SparseTensor."""
    some = feed("some")
    where = tf.where(tf.less(some, CLASSES))
    return tf.SparseTensor(where, tf.gather_nd(some, where), [ROWS, 2])


for _k, _class in ((1, None), (3, None), (2, 1)):
    scenario(
        f"metrics.precision_at_k sparse {_k} {_class}",
        lambda tf, feed, k=_k, c=_class: tf.metrics.precision_at_k(
            _sparse(tf, feed), feed("floats"), k, class_id=c
        ),
    )
for _k in (1, 3):
    scenario(
        f"metrics.average_precision_at_k sparse {_k}",
        lambda tf, feed, k=_k: tf.metrics.average_precision_at_k(
            _sparse(tf, feed), feed("floats"), k, feed("vector_weights")
        ),
    )


def outline(tf: Any, name: str) -> dict[str, Any]:
    """Return the graph of a scenario, and its values for each batch."""
    batches = [data(seed) for seed in range(BATCHES)]
    fed: dict[str, Any] = {}
    with tf.Graph().as_default() as graph:

        def feed(key: str, shape: Any = ()) -> Any:
            if key not in fed:
                value = batches[0][key]
                shape = value.shape if shape == () else shape
                fed[key] = tf.placeholder(tf.as_dtype(value.dtype), shape, name=key)
            return fed[key]

        fetches = SCENARIOS[name](tf, feed)
        collections = {
            key: [tensor.name for tensor in graph.get_collection(key)]
            for key in ("m", "u", "losses", "local_variables", "metric_variables")
        }
        nodes = [
            f"{node.name} {node.op}({', '.join(node.input)})" for node in graph.as_graph_def().node
        ]
        values = []
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            for batch in batches:
                feeds = {tensor: batch[key] for key, tensor in fed.items()}
                if not name.startswith("metrics."):
                    found = sess.run(fetches, feeds)
                    values.append(_plain(found))
                    continue
                value, update = fetches
                values.append([_plain(sess.run(update, feeds)), _plain(sess.run(value, feeds))])
    return {"nodes": nodes, "collections": collections, "values": values}


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return np.asarray(value, np.float64).tolist()
