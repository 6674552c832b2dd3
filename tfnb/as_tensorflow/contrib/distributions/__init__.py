"""``tf.contrib.distributions``: what became ``tf.distributions``, and more distributions."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.distributions import bijectors as bijectors
from tfnb.as_tensorflow.contrib.distributions.bijectors.elementwise import (
    softplus_inverse as softplus_inverse,
)
from tfnb.as_tensorflow.contrib.distributions.combined import Independent as Independent
from tfnb.as_tensorflow.contrib.distributions.combined import Mixture as Mixture
from tfnb.as_tensorflow.contrib.distributions.combined import MixtureSameFamily as MixtureSameFamily
from tfnb.as_tensorflow.contrib.distributions.multivariate_normal import (
    MultivariateNormalDiag as MultivariateNormalDiag,
)
from tfnb.as_tensorflow.contrib.distributions.multivariate_normal import (
    MultivariateNormalDiagWithSoftplusScale as MultivariateNormalDiagWithSoftplusScale,
)
from tfnb.as_tensorflow.contrib.distributions.multivariate_normal import (
    MultivariateNormalFullCovariance as MultivariateNormalFullCovariance,
)
from tfnb.as_tensorflow.contrib.distributions.multivariate_normal import (
    MultivariateNormalTriL as MultivariateNormalTriL,
)
from tfnb.as_tensorflow.contrib.distributions.relaxed import (
    ExpRelaxedOneHotCategorical as ExpRelaxedOneHotCategorical,
)
from tfnb.as_tensorflow.contrib.distributions.relaxed import OneHotCategorical as OneHotCategorical
from tfnb.as_tensorflow.contrib.distributions.relaxed import RelaxedBernoulli as RelaxedBernoulli
from tfnb.as_tensorflow.contrib.distributions.relaxed import (
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from tfnb.as_tensorflow.contrib.distributions.scalars import Cauchy as Cauchy
from tfnb.as_tensorflow.contrib.distributions.scalars import Deterministic as Deterministic
from tfnb.as_tensorflow.contrib.distributions.scalars import Geometric as Geometric
from tfnb.as_tensorflow.contrib.distributions.scalars import Gumbel as Gumbel
from tfnb.as_tensorflow.contrib.distributions.scalars import HalfNormal as HalfNormal
from tfnb.as_tensorflow.contrib.distributions.scalars import Logistic as Logistic
from tfnb.as_tensorflow.contrib.distributions.scalars import (
    NormalWithSoftplusScale as NormalWithSoftplusScale,
)
from tfnb.as_tensorflow.contrib.distributions.scalars import Poisson as Poisson
from tfnb.as_tensorflow.contrib.distributions.transformed import (
    TransformedDistribution as TransformedDistribution,
)
from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.public.api import tf

_TRANSFORMED = "write its log_prob and sample with the functions of tf, or use another distribution"
_MISSING = frozenset(
    (
        "ConditionalTransformedDistribution",
        "QuantizedDistribution", "Autoregressive", "BatchReshape", "SinhArcsinh",
        "MultivariateNormalDiagPlusLowRank", "MultivariateStudentT", "VectorDeterministic",
        "VectorDiffeomixture", "VectorExponentialDiag", "VectorLaplaceDiag", "WishartCholesky",
        "WishartFull", "PoissonLogNormalQuadratureCompound", "NegativeBinomial", "Binomial",
        "BetaWithSoftplusConcentration", "InverseGamma", "Chi2", "Chi2WithAbsDf",
    )
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        return missing_name("tf.contrib.distributions", name, _TRANSFORMED)
    return getattr(tf.distributions, name)


def __dir__() -> list[str]:
    """Return all names; libraries make classes of the distributions that they find so."""
    own = (name for name in globals() if not name.startswith("_"))
    return sorted({*own, *dir(tf.distributions)})
