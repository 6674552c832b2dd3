"""``tf.random.Generator``: random numbers whose position in the sequence is a variable.

A draw advances the variable and computes the numbers from its previous value, as TensorFlow does:
the same state gives the same numbers in both. Corresponds to ``stateful_random_ops.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.variables.variables import Variable
from tfnb.ops.array import array_ops
from tfnb.ops.array.identity_ops import bitcast
from tfnb.ops.math import math_ops
from tfnb.ops.random import stateful_random_ops, stateless_random_ops
from tfnb.ops.random.random_ops import shape_tensor
from tfnb.ops.random.stateless_random_ops import algorithm_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult, VariableLike

_NAMES = ["Generator", "create_rng_state", "get_global_generator", "set_global_generator"]
EXPORTS = {"random": _NAMES, "random.experimental": _NAMES}

_STATE_SIZES = {1: 3, 2: 2}  # by algorithm: Philox, ThreeFry
_GLOBAL = "_global_random_generator"


def _number_of(alg: TensorLike) -> int:
    number = int(algorithm_number("auto_select" if alg is None else alg))
    return 1 if number == 3 else number


def create_rng_state(seed: TensorLike, alg: TensorLike) -> TensorResult:
    """Return the state for a seed: three int64 numbers for Philox, two for ThreeFry.

    Args:
      seed: an integer of any size, or at most three (ThreeFry: two) 64-bit integers.
      alg: "philox" or "threefry", or an ``Algorithm``.
    """
    size = _STATE_SIZES[_number_of(alg)]
    if isinstance(seed, Tensor):
        flat = array_ops.reshape(math_ops.cast(seed, dtypes.int64), [-1])[:size]
        zeros = array_ops.zeros([size - array_ops.size(flat)], dtypes.int64)
        return array_ops.concat([zeros, flat], 0)
    if np.ndim(seed) == 0:
        words = [int(seed) >> 64 * place & (2**64 - 1) for place in range(size)]
    else:
        words = [int(one) & (2**64 - 1) for one in seed][:size]
        words = [0] * (size - len(words)) + words
    return array_ops.constant(np.array(words, np.uint64).view(np.int64))


class Generator:
    """A random generator that continues where the last draw stopped.

    Args:
      copy_from: another generator, whose state is copied.
      state: the initial state if ``copy_from`` is None.
      alg: the algorithm of the state: "philox", or an ``Algorithm``.

    Raises:
      ValueError: neither is given.
    """

    def __init__(
        self,
        copy_from: Generator | None = None,
        state: Nested | None = None,
        alg: TensorLike | None = None,
    ) -> None:
        if copy_from is not None:
            state, alg = copy_from.state.initialized_value(), copy_from.algorithm
        elif state is None or alg is None:
            raise ValueError("A generator needs `state` and `alg`, or another one to copy.")
        self._alg = _number_of(alg)
        with name_scope("random_generator"):
            initial = convert_to_tensor(state, dtypes.int64)
            self._state: Nested = Variable(
                initial, name="StateVar", trainable=False, dtype=dtypes.int64, use_resource=True
            )

    @classmethod
    def from_state(cls, state: Nested, alg: TensorLike) -> Generator:
        """Create a generator from a state."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: TensorLike, alg: TensorLike | None = None) -> Generator:
        """Create a generator from a seed."""
        number = _number_of(alg)
        return cls(state=create_rng_state(seed, number), alg=number)

    @classmethod
    def from_non_deterministic_state(cls, alg: TensorLike | None = None) -> Generator:
        """Create a generator with a random state."""
        number = _number_of(alg)
        state = stateful_random_ops.non_deterministic_ints([_STATE_SIZES[number]])
        return cls(state=state, alg=number)

    @classmethod
    def from_key_counter(cls, key: TensorLike, counter: TensorLike, alg: TensorLike) -> Generator:
        """Create a generator from a key and a counter."""
        return cls(state=_joined(key, counter), alg=alg)

    @property
    def state(self) -> VariableLike:
        """The variable."""
        return self._state

    @property
    def algorithm(self) -> int:
        """The number of the algorithm: 1 is Philox."""
        return self._alg

    @property
    def key(self) -> TensorResult:
        """The key."""
        return self._state.read_value()[-1]

    def reset(self, state: Nested) -> TensorResult:
        """Return an operation that sets the state."""
        return self._state.assign(convert_to_tensor(state, dtypes.int64))

    def reset_from_seed(self, seed: TensorLike) -> TensorResult:
        """Return an operation that sets the state for a seed."""
        return self.reset(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: TensorLike, counter: TensorLike) -> TensorResult:
        """Return an operation that sets the key and counter."""
        return self.reset(_joined(key, counter))

    def skip(self, delta: TensorLike) -> TensorResult:
        """Advance the state as if ``delta`` 64-bit numbers had been drawn, and return it."""
        return stateful_random_ops.rng_read_and_skip(
            self._state.handle, self._alg, math_ops.cast(delta, dtypes.uint64)
        )

    def _place(self, shape: TensorLike) -> tuple[Nested, Nested]:
        """Reserve numbers for a shape; return their key and counter."""
        if self._alg != 1:
            raise ValueError("Numbers are drawn with Philox only: pass alg='philox'.")
        state = self.skip(math_ops.reduce_prod(shape))
        return bitcast(state[2:3], dtypes.uint64), bitcast(state[:2], dtypes.uint64)

    def _drawn(self, build: Any, shape: TensorLike, *limits: Any, **attrs: Any) -> TensorResult:
        key, counter = self._place(shape)
        return build(shape, key, counter, self._alg, *limits, **attrs)

    def normal(
        self,
        shape: TensorLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> TensorResult:
        """Draw normally distributed numbers."""
        with name_scope(name, "stateful_normal", [shape, mean, stddev]) as scope:
            size = shape_tensor(shape)
            build = stateless_random_ops.stateless_random_normal_v2
            found = self._drawn(build, size, dtype=dtype)
            return math_ops.add(found * _as(stddev, dtype), _as(mean, dtype), name=scope)

    def truncated_normal(
        self,
        shape: TensorLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> TensorResult:
        """Draw normally distributed numbers within two standard deviations of the mean."""
        with name_scope(name, "truncated_normal", [shape, mean, stddev]) as scope:
            size = shape_tensor(shape)
            build = stateless_random_ops.stateless_truncated_normal_v2
            found = self._drawn(build, size, dtype=dtype)
            return math_ops.add(found * _as(stddev, dtype), _as(mean, dtype), name=scope)

    def uniform(
        self,
        shape: TensorLike,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> TensorResult:
        """Draw uniform numbers in [minval, maxval); among all integers if both are None.

        Raises:
          ValueError: integers have no upper limit.
        """
        dtype = dtypes.as_dtype(dtype)
        if maxval is None:
            if dtype.is_integer and minval is not None:
                raise ValueError("Must specify maxval for integer dtype when minval is not None")
            maxval = None if minval is None else 1
        with name_scope(name, "stateful_uniform", [shape, minval, maxval]) as scope:
            size = shape_tensor(shape)
            if dtype.is_integer and minval is None:
                return self.uniform_full_int(size, dtype, scope)
            low, high = _as(minval, dtype), _as(maxval, dtype)
            if dtype.is_integer:
                build: Any = stateless_random_ops.stateless_random_uniform_int_v2
                return self._drawn(build, size, low, high, name=scope)
            found = self._drawn(stateless_random_ops.stateless_random_uniform_v2, size, dtype=dtype)
            return math_ops.add(found * (high - low), low, name=scope)

    def uniform_full_int(
        self, shape: TensorLike, dtype: DTypeLike = dtypes.uint64, name: str | None = None
    ) -> TensorResult:
        """Draw uniform integers over the full range of a dtype."""
        with name_scope(name, "stateful_uniform_full_int", [shape]) as scope:
            build = stateless_random_ops.stateless_random_uniform_full_int_v2
            return self._drawn(build, shape_tensor(shape), dtype=dtype, name=scope)

    def binomial(
        self,
        shape: TensorLike,
        counts: TensorLike,
        probs: TensorLike,
        dtype: DTypeLike = dtypes.int32,
        name: str | None = None,
    ) -> TensorResult:
        """Draw binomial numbers: successes among ``counts`` trials of probability ``probs``."""
        with name_scope(name, "binomial", [shape, counts, probs]) as scope:
            counts = convert_to_tensor(counts, name="counts")
            probs = convert_to_tensor(probs, dtype=counts.dtype, name="probs")
            return stateful_random_ops.stateful_random_binomial(
                self._state.handle, self._alg, shape_tensor(shape), counts, probs,
                dtype=dtype, name=scope,
            )  # fmt: skip

    def make_seeds(self, count: int = 1) -> TensorResult:
        """Draw seeds for the stateless ops, int64 of shape [2, count]."""
        found = self.uniform_full_int([count], dtypes.int64)
        return array_ops.stack([found, array_ops.zeros_like(found)])

    def split(self, count: int = 1) -> Sequence[Generator]:
        """Fail: a generator cannot be split in a graph.

        Raises:
          NotImplementedError: always; the message names an alternative.
        """
        raise NotImplementedError(
            "A generator cannot be split in a graph: make others with Generator.from_seed, or use "
            "make_seeds with the stateless functions."
        )


def _as(value: TensorLike, dtype: DTypeLike) -> TensorResult:
    return convert_to_tensor(value, dtype)


def _joined(key: TensorLike, counter: TensorLike) -> TensorResult:
    counter = convert_to_tensor(counter, dtypes.int64)
    last = array_ops.reshape(convert_to_tensor(key, dtypes.int64), [1])
    return array_ops.concat([counter, last], 0)


def get_global_generator() -> Generator:
    """Return the global generator of the default graph, created at the first call."""
    graph = get_default_graph()
    found: Generator | None = graph.__dict__.get(_GLOBAL)
    if found is None:
        found = Generator.from_non_deterministic_state()
        set_global_generator(found)
    return found


def set_global_generator(generator: Generator) -> None:
    """Set the global generator of the default graph."""
    get_default_graph().__dict__[_GLOBAL] = generator
