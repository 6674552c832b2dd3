"""A graph with work for each optimizer, and configurations; for TensorFlow and tfnb."""

from __future__ import annotations

from typing import Any

# Fields of RewriterConfig; 2 is OFF, 1 is ON or ONE.
CONFIGS: dict[str, dict[str, Any]] = {
    "default": {},
    "meta optimizer off": {"disable_meta_optimizer": True},
    "meta optimizer off beats on": {"disable_meta_optimizer": True, "constant_folding": 1},
    "constant folding off": {"constant_folding": 2},
    "arithmetic off": {"arithmetic_optimization": 2},
    "dependency off": {"dependency_optimization": 2},
    "equal nodes off": {"common_subgraph_elimination": 2},
    "large graphs only": {"min_graph_nodes": 100},
    "graphs of any size": {"min_graph_nodes": -1},
    "once": {"meta_optimizer_iterations": 1},
    "twice": {"meta_optimizer_iterations": 2},
    "folding by name": {"optimizers": ["constfold"]},
    "arithmetic by name": {"optimizers": ["arithmetic"]},
    "pruning by name": {"optimizers": ["pruning"]},
    "names beat switches": {"optimizers": ["constfold"], "constant_folding": 2},
    "unknown names": {"optimizers": ["nobody"]},
}


def config(tf: Any, fields: dict[str, Any]) -> Any:
    """Return a configuration for ``tf``, TensorFlow or tfnb."""
    found = tf.ConfigProto()
    for name, value in fields.items():
        if name == "optimizers":
            found.graph_options.rewrite_options.optimizers.extend(value)
        else:
            setattr(found.graph_options.rewrite_options, name, value)
    return found


def build(tf: Any) -> tuple[Any, Any]:
    """Build the graph; return its feeds and fetches."""
    p = tf.placeholder(tf.float32, [2, 2], name="p")
    e = tf.exp(p, name="e")
    negated = tf.negative(tf.negative(e, name="inner"), name="outer")
    with tf.control_dependencies([e, negated]):
        folded = tf.add(tf.constant(2.0), tf.constant(3.0), name="folded")
    same = tf.multiply(tf.sin(e, name="sine"), tf.sin(e, name="sine_again"), name="same")
    y = tf.add(negated * folded, same, name="y")
    return p, tf.sqrt(tf.identity(y, name="identity"), name="out")


def facts(ops: dict[str, str]) -> dict[str, bool]:
    """Return which optimizers worked, from the names of the remaining ops."""
    return {
        "folded": ops.get("folded") == "Const",
        "negations gone": "inner" not in ops,
        "sines joined": not {"sine", "sine_again"} <= ops.keys(),
        "identity gone": "identity" not in ops,
    }
