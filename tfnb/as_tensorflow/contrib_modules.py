"""The parts of ``tf.contrib``: where each comes from."""

from __future__ import annotations

_OURS = "tfnb.as_tensorflow.contrib"

# Part -> module.
CONTRIB: dict[str, str] = {
    "slim": "tf_slim",
    "layers": f"{_OURS}.layers",
    "framework": f"{_OURS}.framework",
    "training": f"{_OURS}.training",
    "metrics": f"{_OURS}.metrics",
    "losses": "tf_slim.losses",
    "rnn": f"{_OURS}.rnn",
    "seq2seq": f"{_OURS}.seq2seq",
    "crf": f"{_OURS}.crf",
    "opt": f"{_OURS}.opt",
    "legacy_seq2seq": f"{_OURS}.legacy_seq2seq",
    "image": f"{_OURS}.image",
    "cudnn_rnn": f"{_OURS}.cudnn_rnn",
    "cluster_resolver": f"{_OURS}.cluster_resolver",
    "data": f"{_OURS}.data",
    "distributions": f"{_OURS}.distributions",
    "lookup": f"{_OURS}.lookup",
    "learn": f"{_OURS}.learn",
    "linalg": f"{_OURS}.linalg",
    "signal": f"{_OURS}.signal",
    "sparsemax": f"{_OURS}.sparsemax",
    "stateless": f"{_OURS}.stateless",
    "util": f"{_OURS}.util",
    "memory_stats": f"{_OURS}.memory_stats",
    "nccl": f"{_OURS}.nccl",
    "compiler": f"{_OURS}.compiler",
    "eager": f"{_OURS}.eager",
    "graph_editor": f"{_OURS}.graph_editor",
    "staging": f"{_OURS}.staging",
    "summary": f"{_OURS}.summary",
    "estimator": f"{_OURS}.estimator",
    "tpu": f"{_OURS}.tpu",
    "tensorboard": f"{_OURS}.tensorboard",
    "testing": f"{_OURS}.testing",
    "factorization": f"{_OURS}.factorization",
    "predictor": f"{_OURS}.predictor",
    "feature_column": f"{_OURS}.feature_column",
    "resampler": f"{_OURS}.resampler",
    "tfprof": f"{_OURS}.tfprof",
    "quantize": f"{_OURS}.quantize",
}

# Parts that tfnb does not have -> what to do.
MISSING_PARTS: dict[str, str] = {
    "lite": "converters for other devices need TensorFlow itself",
    "tensorrt": "converters for other devices need TensorFlow itself",
    "autograph": "write tf.cond and tf.while_loop instead of if and while",
    "bayesflow": "write the estimators with the functions of tf and tf.distributions",
    "gan": "write both losses with tf.losses, and two optimizers of tf.train",
    "distribute": "use tf.train.replica_device_setter and tf.train.Server",
}
