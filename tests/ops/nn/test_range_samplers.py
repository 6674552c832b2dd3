"""Several classes drawn at once are those that are drawn one after the other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tfnb.ops.nn.range_samplers import (
    FixedUnigramSampler,
    LogUniformSampler,
    RangeSampler,
    UniformSampler,
    WordStream,
)
from tfnb.ops.random.philox import Philox

_LIMITS = [1, 2, 7, 64, 50_000, 2**31 + 1, 2**40, 2**62 + 3]


def _stream() -> WordStream:
    return WordStream(Philox.from_seeds(3, 5))


def _check(sampler: RangeSampler, count: int) -> None:
    together, alone = _stream(), _stream()
    assert sampler.draws(together, count) == [sampler.draw(alone) for _ in range(count)]
    assert together.word() == alone.word()


@pytest.mark.parametrize("limit", _LIMITS)
@pytest.mark.parametrize("count", [1, 8, 300])
def test_uniform_and_log_uniform_classes(limit: int, count: int) -> None:
    """Ranges of all sizes, powers of two among them."""
    _check(UniformSampler(limit), count)
    _check(LogUniformSampler(limit), count)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 5.0, 0.0, 2.0], [3.0, 1.0, 1.0, 9.0, 4.0]])
def test_classes_with_weights(weights: list[float]) -> None:
    """A class is kept or replaced by its alternative, draw by draw."""
    _check(FixedUnigramSampler(len(weights), weights, 0.75, 0, 1, 0), 200)


def test_refused_words_are_skipped() -> None:
    """A range that refuses words at each second draw uses as many words either way."""
    limit, narrow = 2**63 + 1, 2**31 + 1
    together, alone = _stream(), _stream()
    assert together.all_below_wide(limit, 50) == [alone.below_wide(limit) for _ in range(50)]
    fractions, numbers = together.fractions_and_numbers(narrow, 50)
    wanted = [(alone.fraction(), alone.below(narrow)) for _ in range(50)]
    assert list(zip(fractions.tolist(), numbers.tolist(), strict=True)) == wanted
    assert together.word() == alone.word()


@pytest.mark.parametrize("is_unique", [False, True])
def test_expected_counts(is_unique: bool) -> None:
    """The counts follow from probabilities and tries; a certain class is expected once."""
    classes = np.array([[0, 1], [5, 19]])
    drawn, expected, own = LogUniformSampler(20).sample(_stream(), 12, is_unique, classes)
    shares = [math.log((k + 2) / (k + 1)) / math.log(21) for k in range(20)]
    if is_unique:
        stream, tries = _stream(), 0
        seen: set[int] = set()
        while len(seen) < 12:
            seen.add(LogUniformSampler(20).draw(stream))
            tries += 1
        wanted = [1 - (1 - share) ** tries for share in shares]
        assert len(set(drawn.tolist())) == 12
    else:
        wanted = [12 * share for share in shares]
    np.testing.assert_allclose(expected, np.array(wanted)[classes], rtol=1e-5)
    np.testing.assert_allclose(own, np.array(wanted)[drawn], rtol=1e-5)
    assert UniformSampler(1).sample(_stream(), 1, True, np.zeros((1, 1), int))[1] == 1
