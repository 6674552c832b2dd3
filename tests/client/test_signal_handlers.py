"""An exception of a signal handler during a kernel is not treated as the kernel's error."""

from __future__ import annotations

import functools
import signal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.core import op_registry
from tfnb.core.process.signal_handlers import raised_by_handler

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Alarm(ValueError):
    """An exception of a class that kernels raise, too."""


def _ring(text: str, number: int, frame: Any) -> None:
    raise _Alarm(text)


class _Ringing:
    def __call__(self, number: int, frame: Any) -> None:
        raise _Alarm("over")

    def method(self, number: int, frame: Any) -> None:
        raise _Alarm("over")


def _interrupt() -> None:
    signal.raise_signal(signal.SIGUSR1)  # to this thread: another one would hear it later


@pytest.fixture(params=["function", "partial", "object", "method"])
def handler(request: pytest.FixtureRequest) -> Iterator[None]:
    """Signal handlers in every form that Python accepts."""
    handlers = {
        "function": lambda number, frame: _ring("over", number, frame),
        "partial": functools.partial(_ring, "over"),
        "object": _Ringing(),
        "method": _Ringing().method,
    }
    before = signal.signal(signal.SIGUSR1, handlers[request.param])
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def interrupted_op() -> Iterator[Any]:
    """Return an op whose kernel, and whose expression, is interrupted."""

    def interrupted(x: Any) -> Any:
        _interrupt()
        return x

    op = op_registry.register_op("Interrupted", "x: float -> y: float")(
        lambda xp, x: interrupted(x)
    )
    op.expression("{interrupted}({x})", interrupted=interrupted)
    yield op
    op_registry.deregister_op("Interrupted")


@pytest.mark.usefixtures("handler")
@pytest.mark.parametrize("ways", ["first", "emitted"])
def test_it_is_raised_as_it_is(interrupted_op: Any, ways: str) -> None:
    """The exception leaves run unchanged, with both ways to run; the session stays usable."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32)
        y = interrupted_op(x) + 1.0
        for _ in range(1 if ways == "first" else 4):
            with pytest.raises(_Alarm, match=r"^over$"):
                sess.run(y, {x: np.ones(2)})
        assert sess.run(x + 1.0, {x: 1.0}) == 2.0


@pytest.mark.usefixtures("handler")
def test_a_python_function_is_interrupted_likewise() -> None:
    """tf.py_func wraps exceptions of the function, not those of a signal handler."""
    with tf.Graph().as_default(), tf.Session() as sess:
        stopped = tf.py_func(_interrupt, [], [])
        with pytest.raises(_Alarm):
            sess.run(stopped)

        def fails() -> None:
            raise _Alarm("its own")

        with pytest.raises(tf.errors.InvalidArgumentError, match="its own"):
            sess.run(tf.py_func(fails, [], []))


def test_other_errors_are_not_taken_for_it() -> None:
    """Exceptions of kernels are wrapped, however deep in the call they are raised."""
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("x")
    assert not raised_by_handler(caught.value)
    assert not raised_by_handler(ValueError("never raised"))
