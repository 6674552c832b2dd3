"""Templates make variables once and share them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tfnb.framework.functions.function import Defun

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    """A graph of its own."""
    with tf.Graph().as_default() as made:
        yield made


def _scaled(x: Any, by: float = 1.0) -> Any:
    return x * tf.get_variable("scale", [], initializer=tf.ones_initializer()) * by


def test_later_calls_use_the_first_ones_variables() -> None:
    """Variables are named after the template."""
    scale = tf.make_template("scale", _scaled, by=3.0)
    assert scale.variables == []
    assert scale.variable_scope is None
    first = scale(2.0)
    second = scale(4.0)
    assert [variable.op.name for variable in tf.global_variables()] == ["scale/scale"]
    assert scale.trainable_variables == tf.trainable_variables()
    assert scale.local_variables == []
    assert scale.variable_scope_name == "scale/"
    assert scale.name == "scale"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([first, second]) == [6, 12]


def test_templates_of_one_name_have_variables_of_their_own() -> None:
    """The scopes of templates are made unique; unique_name_ forbids it."""
    for _ in range(2):
        tf.make_template("scale", _scaled)(1.0)
    assert [variable.op.name for variable in tf.global_variables()] == [
        "scale/scale",
        "scale_1/scale",
    ]
    tf.make_template("scale", _scaled, unique_name_="only")(1.0)
    again = tf.make_template("scale", _scaled, unique_name_="only")
    with pytest.raises(ValueError, match=r"Variable only/scale already exists"):
        again(1.0)


def test_the_scope_can_be_made_early() -> None:
    """Then the scope is where the template is made."""
    with tf.variable_scope("outer"):
        early = tf.make_template("early", _scaled, create_scope_now_=True)
        late = tf.make_template("late", _scaled)
    early(1.0)
    late(1.0)
    assert [variable.op.name for variable in tf.global_variables()] == [
        "outer/early/scale",
        "late/scale",
    ]


def test_new_variables_in_later_calls_are_refused() -> None:
    """New variables could not be shared."""
    scale = tf.make_template("t", lambda: tf.Variable(1.0))
    scale()
    with pytest.raises(ValueError, match=r"perhaps you used tf.Variable when you meant"):
        scale()
    names = iter("ab")
    other = tf.make_template("o", lambda: tf.get_variable(next(names), []))
    other()
    with pytest.raises(ValueError, match="Variable o/b does not exist") as caught:
        other()
    text = "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "originally defined at" in text


def test_getters_are_asked_for_variables() -> None:
    """Custom getters are called in every call."""
    asked = []

    def custom(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        asked.append(name)
        return getter(name, *args, **kwargs)

    scale = tf.make_template("t", _scaled, custom_getter_=custom)
    scale(1.0)
    scale(1.0)
    assert asked == ["t/scale", "t/scale"]


@pytest.mark.parametrize("creates_now", [False, True])
@pytest.mark.parametrize("function_first", [False, True])
def test_a_template_shares_its_variables_with_a_function(
    creates_now: bool, function_first: bool
) -> None:
    """They are made outside of the function, in the call that comes first."""
    scale = tf.make_template("scale", _scaled, create_scope_now_=creates_now, by=3.0)

    @Defun(tf.float32)
    def function(x: Any) -> Any:
        return scale(x)

    calls: list[Any] = [function, scale] if function_first else [scale, function]
    results = [call(tf.constant(2.0)) for call in calls]
    assert [variable.op.name for variable in tf.global_variables()] == ["scale/scale"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(results) == [6, 6]
