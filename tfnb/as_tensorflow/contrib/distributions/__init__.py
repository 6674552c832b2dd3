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
from tfnb.as_tensorflow.contrib.distributions.counts import Binomial as Binomial
from tfnb.as_tensorflow.contrib.distributions.counts import NegativeBinomial as NegativeBinomial
from tfnb.as_tensorflow.contrib.distributions.functions import (
    fill_triangular as fill_triangular,
)
from tfnb.as_tensorflow.contrib.distributions.functions import (
    fill_triangular_inverse as fill_triangular_inverse,
)
from tfnb.as_tensorflow.contrib.distributions.functions import (
    matrix_diag_transform as matrix_diag_transform,
)
from tfnb.as_tensorflow.contrib.distributions.functions import (
    reduce_weighted_logsumexp as reduce_weighted_logsumexp,
)
from tfnb.as_tensorflow.contrib.distributions.functions import (
    tridiag as tridiag,
)
from tfnb.as_tensorflow.contrib.distributions.multivariate_normal import (
    MultivariateNormalDiag as MultivariateNormalDiag,
)
from tfnb.as_tensorflow.contrib.distributions.multivariate_normal import (
    MultivariateNormalDiagPlusLowRank as MultivariateNormalDiagPlusLowRank,
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
from tfnb.as_tensorflow.contrib.distributions.positive import (
    BetaWithSoftplusConcentration as BetaWithSoftplusConcentration,
)
from tfnb.as_tensorflow.contrib.distributions.positive import Chi2 as Chi2
from tfnb.as_tensorflow.contrib.distributions.positive import Chi2WithAbsDf as Chi2WithAbsDf
from tfnb.as_tensorflow.contrib.distributions.positive import (
    ExponentialWithSoftplusRate as ExponentialWithSoftplusRate,
)
from tfnb.as_tensorflow.contrib.distributions.positive import (
    GammaWithSoftplusConcentrationRate as GammaWithSoftplusConcentrationRate,
)
from tfnb.as_tensorflow.contrib.distributions.positive import InverseGamma as InverseGamma
from tfnb.as_tensorflow.contrib.distributions.positive import (
    InverseGammaWithSoftplusConcentrationRate as InverseGammaWithSoftplusConcentrationRate,
)
from tfnb.as_tensorflow.contrib.distributions.positive import Kumaraswamy as Kumaraswamy
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
from tfnb.as_tensorflow.contrib.distributions.scalars import (
    LaplaceWithSoftplusScale as LaplaceWithSoftplusScale,
)
from tfnb.as_tensorflow.contrib.distributions.scalars import Logistic as Logistic
from tfnb.as_tensorflow.contrib.distributions.scalars import (
    NormalWithSoftplusScale as NormalWithSoftplusScale,
)
from tfnb.as_tensorflow.contrib.distributions.scalars import Poisson as Poisson
from tfnb.as_tensorflow.contrib.distributions.scalars import (
    StudentTWithAbsDfSoftplusScale as StudentTWithAbsDfSoftplusScale,
)
from tfnb.as_tensorflow.contrib.distributions.scalars import (
    VectorDeterministic as VectorDeterministic,
)
from tfnb.as_tensorflow.contrib.distributions.transformed import (
    TransformedDistribution as TransformedDistribution,
)
from tfnb.as_tensorflow.contrib.distributions.wishart import WishartCholesky as WishartCholesky
from tfnb.as_tensorflow.contrib.distributions.wishart import WishartFull as WishartFull
from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.public.api import tf

_TRANSFORMED = "write its log_prob and sample with the functions of tf, or use another distribution"
_MISSING = frozenset(
    (
        "Autoregressive", "BatchReshape", "ConditionalDistribution",
        "ConditionalTransformedDistribution", "MultivariateStudentT",
        "PoissonLogNormalQuadratureCompound", "QuantizedDistribution", "SinhArcsinh",
        "VectorDiffeomixture", "VectorExponentialDiag",
        "VectorLaplaceDiag", "VectorSinhArcsinhDiag",
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
