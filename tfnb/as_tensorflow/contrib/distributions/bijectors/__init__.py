"""``tf.contrib.distributions.bijectors``: maps that can be undone, with their determinants."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.distributions.bijectors.bijector import Bijector as Bijector
from tfnb.as_tensorflow.contrib.distributions.bijectors.bijector import Chain as Chain
from tfnb.as_tensorflow.contrib.distributions.bijectors.bijector import (
    ConditionalBijector as ConditionalBijector,
)
from tfnb.as_tensorflow.contrib.distributions.bijectors.bijector import Identity as Identity
from tfnb.as_tensorflow.contrib.distributions.bijectors.bijector import Inline as Inline
from tfnb.as_tensorflow.contrib.distributions.bijectors.bijector import Invert as Invert
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import (
    AffineScalar as AffineScalar,
)
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import Exp as Exp
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import Gumbel as Gumbel
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import (
    PowerTransform as PowerTransform,
)
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import Sigmoid as Sigmoid
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import Softplus as Softplus
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import Softsign as Softsign
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import Square as Square
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import Tanh as Tanh
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import Weibull as Weibull
from tfnb.as_tensorflow.contrib.distributions.bijectors.flows import (
    MaskedAutoregressiveFlow as MaskedAutoregressiveFlow,
)
from tfnb.as_tensorflow.contrib.distributions.bijectors.flows import RealNVP as RealNVP
from tfnb.as_tensorflow.contrib.distributions.bijectors.flows import (
    masked_autoregressive_default_template as masked_autoregressive_default_template,
)
from tfnb.as_tensorflow.contrib.distributions.bijectors.flows import masked_dense as masked_dense
from tfnb.as_tensorflow.contrib.distributions.bijectors.flows import (
    real_nvp_default_template as real_nvp_default_template,
)
from tfnb.as_tensorflow.contrib.distributions.bijectors.vectors import Affine as Affine
from tfnb.as_tensorflow.contrib.distributions.bijectors.vectors import (
    AffineLinearOperator as AffineLinearOperator,
)
from tfnb.as_tensorflow.contrib.distributions.bijectors.vectors import Permute as Permute
from tfnb.as_tensorflow.contrib.distributions.bijectors.vectors import Reshape as Reshape
from tfnb.as_tensorflow.contrib.distributions.bijectors.vectors import (
    SoftmaxCentered as SoftmaxCentered,
)
from tfnb.as_tensorflow.missing_name import missing_name


def __getattr__(name: str) -> Any:
    if name[:1].isupper():
        return missing_name(
            "tf.contrib.distributions.bijectors", name, "give its functions to Inline"
        )
    raise AttributeError(
        f"module 'tensorflow.contrib.distributions.bijectors' has no attribute {name!r}"
    )
