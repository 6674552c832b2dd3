"""``tf.contrib.opt``: optimizers beside those of ``tf.train``."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.opt.adam_variants import AdaMaxOptimizer as AdaMaxOptimizer
from tfnb.as_tensorflow.contrib.opt.adam_variants import LazyAdamOptimizer as LazyAdamOptimizer
from tfnb.as_tensorflow.contrib.opt.adam_variants import NadamOptimizer as NadamOptimizer
from tfnb.as_tensorflow.contrib.opt.external_optimizer import (
    ExternalOptimizerInterface as ExternalOptimizerInterface,
)
from tfnb.as_tensorflow.contrib.opt.external_optimizer import (
    ScipyOptimizerInterface as ScipyOptimizerInterface,
)
from tfnb.as_tensorflow.contrib.opt.rate_optimizers import LARSOptimizer as LARSOptimizer
from tfnb.as_tensorflow.contrib.opt.rate_optimizers import (
    RegAdagradOptimizer as RegAdagradOptimizer,
)
from tfnb.as_tensorflow.contrib.opt.sign_optimizers import AddSignOptimizer as AddSignOptimizer
from tfnb.as_tensorflow.contrib.opt.sign_optimizers import PowerSignOptimizer as PowerSignOptimizer
from tfnb.as_tensorflow.contrib.opt.sign_optimizers import (
    get_cosine_decay_fn as get_cosine_decay_fn,
)
from tfnb.as_tensorflow.contrib.opt.sign_optimizers import (
    get_linear_decay_fn as get_linear_decay_fn,
)
from tfnb.as_tensorflow.contrib.opt.sign_optimizers import (
    get_restart_decay_fn as get_restart_decay_fn,
)
from tfnb.as_tensorflow.contrib.opt.weight_decay import AdamWOptimizer as AdamWOptimizer
from tfnb.as_tensorflow.contrib.opt.weight_decay import (
    DecoupledWeightDecayExtension as DecoupledWeightDecayExtension,
)
from tfnb.as_tensorflow.contrib.opt.weight_decay import MomentumWOptimizer as MomentumWOptimizer
from tfnb.as_tensorflow.contrib.opt.weight_decay import (
    extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay,
)
from tfnb.as_tensorflow.contrib.opt.wrappers import (
    MovingAverageOptimizer as MovingAverageOptimizer,
)
from tfnb.as_tensorflow.contrib.opt.wrappers import (
    MultitaskOptimizerWrapper as MultitaskOptimizerWrapper,
)
from tfnb.as_tensorflow.contrib.opt.wrappers import (
    VariableClippingOptimizer as VariableClippingOptimizer,
)
from tfnb.as_tensorflow.contrib.opt.wrappers import (
    clip_gradients_by_global_norm as clip_gradients_by_global_norm,
)
from tfnb.as_tensorflow.missing_name import missing_name

_ASYNCHRONOUS = "use tf.train.SyncReplicasOptimizer, or an optimizer of tf.train"
_ADVICE = {
    "AdamGSOptimizer": "use tf.train.AdamOptimizer",
    "LazyAdamGSOptimizer": "use tf.contrib.opt.LazyAdamOptimizer",
    "AGNOptimizer": _ASYNCHRONOUS,
    "AGNCustomGetter": _ASYNCHRONOUS,
    "DelayCompensatedGradientDescentOptimizer": _ASYNCHRONOUS,
    "DropStaleGradientOptimizer": _ASYNCHRONOUS,
    "ElasticAverageOptimizer": _ASYNCHRONOUS,
    "ElasticAverageCustomGetter": _ASYNCHRONOUS,
    "ModelAverageOptimizer": _ASYNCHRONOUS,
    "ModelAverageCustomGetter": _ASYNCHRONOUS,
    "GGTOptimizer": "use an optimizer of tf.train",
    "ShampooOptimizer": "use an optimizer of tf.train",
}


def __getattr__(name: str) -> Any:
    if name in _ADVICE:
        return missing_name("tf.contrib.opt", name, _ADVICE[name])
    raise AttributeError(f"module 'tensorflow.contrib.opt' has no attribute {name!r}")
