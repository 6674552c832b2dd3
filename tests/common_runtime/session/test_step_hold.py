"""Steps are held between two nodes, in every way to run them, and continue or end as requested."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_S = 60.0


class Loop:
    """An endless loop in a thread, whose iterations call Python."""

    def __init__(self, config: Any = None, *, is_plain: bool = False) -> None:
        self.turns = 0
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self._moved = threading.Condition()
        with tf.Graph().as_default() as graph:
            if is_plain:
                found: Any = tf.while_loop(lambda k: k >= 0, lambda k: (k + 1) % 9, [0])
            else:
                found = tf.while_loop(lambda k: k >= 0, self._body, [0])
        self.session = tf.Session(graph=graph, config=config)
        self.runtime: Any = self.session.runtime
        self.thread = threading.Thread(target=self._run, args=(found,))
        self.thread.start()

    def _body(self, k: Any) -> Any:
        def turn(k: Any) -> Any:
            with self._moved:
                self.turns += 1
                self._moved.notify_all()
            return k

        found = tf.py_func(turn, [k], tf.int32)
        found.set_shape([])
        return found

    def _run(self, fetch: Any) -> None:
        try:
            self.session.run(fetch)
        except BaseException as error:
            self.error = error
        self.ended.set()

    def wait_for_turn(self, least: int) -> None:
        """Wait until the loop has reached an iteration."""
        with self._moved:
            assert self._moved.wait_for(lambda: self.turns >= least, LIMIT_S)

    def step(self) -> Any:
        """The step in flight."""
        while not (found := self.runtime.active_steps()):
            assert not self.ended.is_set()
        return found[0]

    def end(self) -> None:
        """End the step."""
        for run_state in self.runtime.active_steps():
            run_state.end(errors.cancelled("enough"))
        self.thread.join(LIMIT_S)
        self.session.close()


@pytest.fixture
def loop() -> Iterator[Callable[..., Loop]]:
    """Makes loops and ends them."""
    made: list[Loop] = []

    def make(*args: Any, **options: Any) -> Loop:
        made.append(Loop(*args, **options))
        return made[-1]

    yield make
    for one in made:
        one.end()
        assert not one.thread.is_alive()


def _stands(loop: Loop, where: Callable[[], Any]) -> Any:
    """Return the iteration of a held loop, whose thread stands: two reads agree."""
    while "ran last" not in loop.session.waiting():
        assert not loop.ended.wait(0.01)
    found = where()
    assert not loop.ended.wait(0.05)
    assert where() == found
    return found


def test_a_held_step_stands_and_goes_on(loop: Callable[..., Loop]) -> None:
    """The step is reported as held, and no iteration is lost."""
    one = loop()
    one.wait_for_turn(3)
    one.runtime.hold_steps()
    turns = _stands(one, lambda: one.turns)
    assert one.runtime.is_held
    assert one.step().is_held
    assert "is held" in one.session.waiting()
    one.runtime.let_steps_go()
    one.wait_for_turn(turns + 3)
    assert not one.runtime.is_held
    assert "is running" in one.session.waiting()


def test_a_loop_that_runs_as_a_function_is_held_too(loop: Callable[..., Loop]) -> None:
    """A loop without observers and without waiting nodes runs as a function and is held."""
    one = loop(is_plain=True)
    step = one.step()
    one.runtime.hold_steps()
    assert "iteration" in _stands(one, one.session.waiting)
    assert step.is_held
    step.end(errors.cancelled("enough"))
    assert one.ended.wait(LIMIT_S)
    assert isinstance(one.error, tf.errors.CancelledError)


def test_a_held_step_can_be_ended(loop: Callable[..., Loop]) -> None:
    """Cancelling or closing the session ends it."""
    one, two = loop(), loop()
    for each in (one, two):
        each.wait_for_turn(1)
        each.runtime.hold_steps()
    one.step().end(errors.cancelled("enough"))
    assert one.ended.wait(LIMIT_S)
    assert isinstance(one.error, tf.errors.CancelledError)
    two.session.close()
    assert two.ended.wait(LIMIT_S)
    assert isinstance(two.error, tf.errors.CancelledError)


def test_a_time_out_ends_a_held_step(loop: Callable[..., Loop]) -> None:
    """The deadline applies while the step is held."""
    one = loop(tf.ConfigProto(operation_timeout_in_ms=200))
    one.runtime.hold_steps()
    assert one.ended.wait(LIMIT_S)
    assert isinstance(one.error, tf.errors.DeadlineExceededError)


def test_steps_that_begin_later_are_held() -> None:
    """A training loop of short steps is held before its next step."""
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.add(tf.constant(1.0), 2.0)
        assert session.run(y) == 3.0
        runtime: Any = session.runtime
        runtime.hold_steps()
        runtime.hold_steps()
        found: list[Any] = []
        ended = threading.Event()

        def run() -> None:
            found.append(session.run(y))
            ended.set()

        thread = threading.Thread(target=run)
        thread.start()
        while not (steps := runtime.active_steps()) or not steps[0].is_held:
            assert not ended.is_set()
        assert not ended.wait(0.1)
        runtime.let_steps_go()
        runtime.let_steps_go()
        thread.join(LIMIT_S)
        assert found == [3.0]
        assert session.run(y) == 3.0


def test_an_end_is_not_undone_by_a_hold() -> None:
    """An error has precedence over a hold, in either order."""
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.core.step_events import IDLE_HOOKS

    step = RunState(None, IDLE_HOOKS)
    error = errors.cancelled("enough")
    step.hold()
    assert step.error is None
    step.end(error)
    step.hold()
    step.let_go()
    assert step.error is error
    with pytest.raises(tf.errors.CancelledError, match="enough"):
        step.heed_stop()


def test_calls_inside_a_held_step_are_held() -> None:
    """Running calls and those that begin later are held."""
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.core.step_events import IDLE_HOOKS

    step = RunState(None, IDLE_HOOKS)
    before = step.nested(None)  # type: ignore[arg-type]
    step.hold()
    later = step.nested(None)  # type: ignore[arg-type]
    assert (before.is_held, later.is_held) == (True, True)
    step.let_go()
    assert (before.is_held, later.is_held) == (False, False)
