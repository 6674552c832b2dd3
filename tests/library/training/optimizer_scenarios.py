"""Training steps for TensorFlow and tfnb; the module is a parameter."""

from __future__ import annotations

from typing import Any

OPTIMIZERS: dict[str, Any] = {
    "gradient_descent": lambda t: t.GradientDescentOptimizer(0.5),
    "momentum": lambda t: t.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda t: t.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda t: t.AdamOptimizer(0.1),
    "adagrad": lambda t: t.AdagradOptimizer(0.1),
    "adadelta": lambda t: t.AdadeltaOptimizer(0.5),
    "rms_prop": lambda t: t.RMSPropOptimizer(0.1, momentum=0.5),
    "rms_prop_centered": lambda t: t.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda t: t.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "ftrl_shrinking": lambda t: t.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    "proximal_gradient_descent": lambda t: t.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01),
    "proximal_adagrad": lambda t: t.ProximalAdagradOptimizer(0.1),
}


def train(tf: Any, name: str, use_resource: bool, is_sparse: bool) -> dict[str, Any]:
    """Train three steps with one optimizer; return the variables' names and final values."""
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="w", use_resource=use_resource)
        b = tf.Variable([0.5, -0.5], name="b", use_resource=use_resource)
        step = tf.Variable(0, name="step", trainable=False)
        rows = tf.gather(w, [0, 2, 0]) if is_sparse else w
        loss = tf.reduce_sum(tf.square(rows + b))
        optimizer = OPTIMIZERS[name](tf.train)
        op = optimizer.minimize(loss, global_step=step)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(op)
        variables = sorted(tf.global_variables(), key=lambda v: v.name)
        return {
            "op": op.name,
            "slots": optimizer.get_slot_names(),
            "values": {v.name: session.run(v).tolist() for v in variables},
        }
