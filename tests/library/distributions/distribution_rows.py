"""Expressions over ``tf.distributions``; TensorFlow's nodes and values are stored.

``python scripts/oracle/distributions.py`` writes tests/golden/distributions.json.xz.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_DISTRIBUTIONS = {
    "Normal": ("ds.Normal([0.5, -1.0], [[1.0], [2.5]])", "[0.25, -30.0]"),
    "Normal64": ("ds.Normal(tf.constant(0.5, tf.float64), tf.constant(2.0, tf.float64))", "-1.5"),
    "Uniform": ("ds.Uniform([0.0, 1.0], 3.0)", "[0.5, 4.0]"),
    "Laplace": ("ds.Laplace([0.0, 1.0], 2.0)", "[-0.5, 4.0]"),
    "StudentT": ("ds.StudentT([0.5, 3.0], 1.0, [2.0, -1.5])", "[-0.5, 4.0]"),
    "Gamma": ("ds.Gamma([0.5, 3.0], 2.0)", "[0.5, 4.0]"),
    "Exponential": ("ds.Exponential([0.5, 3.0])", "[0.5, 4.0]"),
    "Beta": ("ds.Beta([0.5, 3.0], 2.0)", "[0.5, 0.25]"),
    "Bernoulli": ("ds.Bernoulli(logits=[0.5, -3.0])", "1"),
    "BernoulliProbs": ("ds.Bernoulli(probs=[0.25, 0.75], dtype=tf.float32)", "[1.0, 0.0]"),
    "Categorical": ("ds.Categorical([[0.5, -3.0, 1.0], [0.0, 0.0, 2.0]])", "1"),
    "CategoricalProbs": ("ds.Categorical(probs=[0.25, 0.5, 0.25], dtype=tf.int64)", "2"),
    "Dirichlet": ("ds.Dirichlet([[0.5, 3.0], [2.0, 1.5]])", "[0.25, 0.75]"),
    "Multinomial": ("ds.Multinomial([3.0], logits=[0.5, -1.0])", "[2.0, 1.0]"),
    "MultinomialProbs": ("ds.Multinomial(4.0, probs=[[0.25, 0.75]])", "[1.0, 3.0]"),
    "DirichletMultinomial": ("ds.DirichletMultinomial(4.0, [[0.5, 3.0]])", "[1.0, 3.0]"),
}
_OF_VALUES = (
    "log_prob", "prob", "log_cdf", "cdf", "log_survival_function", "survival_function",
)  # fmt: skip
_STATISTICS = (
    "entropy", "mean", "variance", "stddev", "covariance", "mode", "batch_shape_tensor",
    "event_shape_tensor", "is_scalar_batch", "is_scalar_event",
)  # fmt: skip
_PAIRS = (
    ("ds.Normal([0.5, 1.0], 2.0)", "ds.Normal(0.0, 1.5)"),
    ("ds.Gamma([0.5, 1.0], 2.0)", "ds.Gamma(2.0, 1.5)"),
    ("ds.Exponential(2.0)", "ds.Exponential([1.5, 3.0])"),
    ("ds.Beta([0.5, 1.0], 2.0)", "ds.Beta(2.0, 1.5)"),
    ("ds.Bernoulli([0.5, 1.0])", "ds.Bernoulli(probs=0.25)"),
    ("ds.Categorical([0.5, 1.0])", "ds.Categorical(probs=[0.25, 0.75])"),
    ("ds.Dirichlet([0.5, 1.0])", "ds.Dirichlet([2.0, 1.5])"),
    ("ds.Normal(0.0, 1.0)", "ds.Uniform(0.0, 1.0)"),
)
# Different nodes with equal numbers, and the reason.
OTHER_NODES = {
    "ds.Normal([0.5, -1.0], [[1.0], [2.5]]).quantile([0.25, 0.9])": "one op computes it",
    "ds.Normal(tf.constant(0.5, tf.float64), tf.constant(2.0, tf.float64)).quantile([0.25, 0.9])": (
        "one op computes it"
    ),
    "ds.Dirichlet([3.0, 1.5]).mode()": "rows of a batch are kept apart",
    "ds.Multinomial(3.0, probs=[0.5, 0.5], validate_args=True).log_prob([1.0, 1.0])": "names",
}
# TensorFlow 2 mixes up the rows of a batch here, TensorFlow 1 does not.
_LEFT_OUT = {"ds.Dirichlet([[0.5, 3.0], [2.0, 1.5]]).mode()"}


def rows() -> list[str]:
    """All expressions."""
    found = []
    for made, value in _DISTRIBUTIONS.values():
        found += [f"{made}.{method}({value})" for method in _OF_VALUES]
        found += [f"{made}.{method}()" for method in _STATISTICS]
        found += [f"{made}.sample({shape}seed=7)" for shape in ("", "3, ", "[2, 2], ")]
    found += [f"{made}.quantile([0.25, 0.9])" for made, _ in list(_DISTRIBUTIONS.values())[:3]]
    for first, second in _PAIRS:
        found += [f"{first}.{how}({second})" for how in ("kl_divergence", "cross_entropy")]
        found.append(f"ds.kl_divergence({first}, {second}, allow_nan_stats=False)")
    found += [
        "ds.Normal(0.0, [1.0, -1.0], validate_args=True).mean()",
        "ds.Normal(0.0, [1.0, 2.0], validate_args=True).sample(seed=3)",
        "ds.Bernoulli(probs=[0.5, 1.5], validate_args=True).mean()",
        "ds.Bernoulli(probs=0.5, validate_args=True).log_prob(2)",
        "ds.Bernoulli(probs=0.5, validate_args=True).log_prob(1)",
        "ds.Categorical(probs=[0.5, 0.6], validate_args=True).log_prob(1)",
        "ds.Categorical(probs=[0.5, 0.5], validate_args=True).log_prob(1)",
        "ds.Categorical(probs=[0.5, 0.5], validate_args=True).log_prob(-1)",
        "ds.Uniform(2.0, 1.0, validate_args=True).mean()",
        "ds.Gamma(1.0, 2.0, validate_args=True).log_prob(-1.0)",
        "ds.Beta(1.0, 2.0, validate_args=True).log_prob(1.5)",
        "ds.Dirichlet([1.0, 2.0], validate_args=True).log_prob([0.5, 0.6])",
        "ds.Dirichlet([1.0, -2.0], validate_args=True).mean()",
        "ds.Multinomial(3.0, probs=[0.5, 0.5], validate_args=True).log_prob([1.0, 1.0])",
        "ds.Multinomial(2.5, probs=[0.5, 0.5], validate_args=True).mean()",
        "ds.StudentT(0.5, 0.0, 1.0, allow_nan_stats=False).mean()",
        "ds.Gamma(0.5, 1.0, allow_nan_stats=False).mode()",
        "ds.Beta(0.5, 1.0, allow_nan_stats=False).mode()",
        "ds.Normal(1, 2)",
        "ds.Normal(tf.constant(1.0, tf.float64), 2.0)",
        "ds.Bernoulli()",
        "ds.Bernoulli(1.0, 2.0)",
        "ds.Bernoulli(1.0).quantile(0.1)",
        "str(ds.Normal(0.0, [1.0, 2.0]))",
        "repr(ds.Categorical([1.0, 2.0]))",
        "repr(ds.Gamma(1.0, 2.0).reparameterization_type)",
        "str(ds.Normal.param_static_shapes([2]))",
        "str(ds.Exponential(2.0).copy(rate=3.0).parameters)",
        "tf.gradients(ds.Normal(p, 2.0).log_prob(0.5), p)[0]",
        "tf.gradients(ds.Normal(0.5, p).sample(3, seed=4), p)[0]",
        "tf.gradients(ds.Gamma(p, 2.0).log_prob(0.5), p)[0]",
        "tf.gradients(ds.Categorical([p, 2.0 * p]).entropy(), p)[0]",
        "tf.gradients(ds.Bernoulli(p).log_prob(1), p)[0]",
    ]
    found.append("ds.Dirichlet([3.0, 1.5]).mode()")
    return [row for row in found if row not in _LEFT_OUT]


def describe(tf: Any, row: str) -> dict[str, Any]:
    """Return the nodes of an expression, and its value or error."""
    found: dict[str, Any] = {}
    with tf.Graph().as_default() as graph:
        p = tf.constant(1.5, name="p")
        try:
            made = eval(row, {"tf": tf, "ds": tf.distributions, "p": p})
        except Exception as error:
            return {"error": type(error).__name__, "text": str(error)[:40]}
        if isinstance(made, str):
            return {"text": made}
        if not hasattr(made, "dtype") or not hasattr(made, "op"):
            return {"text": repr(made)[:30]}
        found["nodes"] = sorted(f"{op.name} {op.type}" for op in graph.get_operations())
        found["shape"] = str(made.shape)
        with tf.Session() as session:
            try:
                value = np.asarray(session.run(made))
            except tf.errors.OpError as error:
                found["error"] = type(error).__name__
            else:
                found["value"] = [value.dtype.name, list(value.shape), value.ravel().tolist()]
    return found
