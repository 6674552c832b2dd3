"""The debugger in a terminal: commands and output."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.client.debugger.text_debugger import TextDebugger


@pytest.fixture
def session():
    """A session without passes that rename nodes."""
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default(), tf.Session(config=config) as found:
        yield found


class Terminal:
    """Lines to type, and all that was shown."""

    def __init__(self, *lines):
        self.lines = list(lines)
        self.text = ""

    def read(self, prompt):
        """The next line; then the end of the input."""
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    def write(self, text):
        """Keeps what is shown."""
        self.text += f"{text}\n"

    def debug(self, session, **options):
        """A debugger at this terminal."""
        return TextDebugger(session, read=self.read, write=self.write, **options)


def _square(limit=4):
    return tf.while_loop(
        lambda i: i < limit, lambda i: tf.add(i, 1, name="next"), [tf.constant(0)], name="loop"
    )


def test_a_dialogue_inspects_changes_and_continues(session):
    """A dialogue inspects, changes a value and runs to the result."""
    x = tf.constant(2.0, name="x")
    y = tf.square(x, name="y")
    terminal = Terminal("", "inputs", "set x 3", "print x", "continue")
    with terminal.debug(session):
        assert session.run(y) == 9.0
    assert "before 'x' (Const)" in terminal.text
    assert "x:0 = 2.  (float32, scalar)" in terminal.text
    assert "x = 3.  (float32, scalar)" in terminal.text


def test_loops_are_told_by_frame_and_iteration(session):
    """The output shows frames, nodes, ready nodes, and why a node has not run."""
    found = _square()
    terminal = Terminal(
        "break loop/next iteration 2", "c", "frames", "nodes", "why loop/Exit", "ready", "f", "c"
    )
    with terminal.debug(session):
        assert session.run(found) == 4
    assert "before 'loop/next' (Add" in terminal.text
    assert "iteration 2 of 'loop/while_context'" in terminal.text
    assert "> iteration 2:" in terminal.text
    assert "at most 10 iterations at a time" in terminal.text
    assert "runs  loop/next" in terminal.text
    assert "'loop/Exit' (Exit)" in terminal.text


def test_a_condition_is_typed(session):
    """The typed breakpoint is confirmed, hit, listed and cleared."""
    found = _square(9)
    terminal = Terminal("b loop/next if max >= 7", "c", "breaks", "clear", "breaks", "c")
    with terminal.debug(session):
        session.run(found)
    assert "breakpoint 1: node loop/next, if max >= 7" in terminal.text
    assert "after 'loop/next'" in terminal.text
    assert "iteration 6 of" in terminal.text
    assert "hit 1 times" in terminal.text
    assert "There are no breakpoints." in terminal.text


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("fly", "There is no command 'fly'"),
        ("print", "usage: print TENSOR"),
        ("print nowhere", "no value of 'nowhere:0' lies in the step"),
        ("set x spam", "'spam' is no number"),
        ("set x [1, 'a']", "InvalidArgumentError"),
        ("iteration", "stands outside of loops"),
        ("break y if often", "is no condition"),
        ("clear 7", "There is no breakpoint 7."),
        ("first z", "'z' is not ready"),
        ("why z", "is no node of this step"),
        ("'", "There is no command"),
        ("help", "run one node"),
    ],
)
def test_what_can_not_be_done_is_said_and_the_step_stands_still(session, line, says):
    """A command that fails prints its error and does not end the dialogue."""
    y = tf.square(tf.constant(2.0, name="x"), name="y")
    terminal = Terminal("u y", line, "c")
    with terminal.debug(session):
        assert session.run(y) == 4.0
    assert says in terminal.text


def test_the_end_of_the_input_cancels_the_step(session):
    """The end of the input acts like ``quit``."""
    y = tf.square(tf.constant(2.0), name="y")
    with Terminal().debug(session), pytest.raises(tf.errors.CancelledError):
        session.run(y)
    with Terminal("q").debug(session), pytest.raises(tf.errors.CancelledError):
        session.run(y)
    assert session.run(y) == 4.0
