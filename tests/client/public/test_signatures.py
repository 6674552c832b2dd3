"""Parameters of functions, classes and methods: TensorFlow's names, order and defaults."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.client.public.signature_text import parameters_of
from tfnb.core.op_registry import OpDefinition

GOLDEN = Path(__file__).parents[2] / "golden" / "signatures.txt"

# Made here by other means than a call of the class, or by a call with other parameters.
_NOT_COMPARED = {
    "tf.DType": "dtypes are there already",
    "tf.Operation": "Graph.create_op makes them",
    "tf.Tensor": "ops make them",
    "tf.data.Dataset": "from_tensor_slices and its like make them",
    "tf.data.experimental.AutoShardPolicy.from_bytes": "Python's own",
    "tf.data.experimental.AutoShardPolicy.to_bytes": "Python's own",
    "tf.data.Iterator": "make_one_shot_iterator and its like make them",
    "tf.dtypes.DType": "dtypes are there already",
}
# Methods of TestCase whose parameters have other names in absl or unittest.
_OF_UNITTEST = (
    "tf.test.TestCase.assertMultiLineEqual",
    "tf.test.TestCase.assertRaisesRegexp",
    "tf.test.TestCase.enter_context",
)


def _golden() -> dict[str, str]:
    found = {}
    for line in GOLDEN.read_text().splitlines():
        full, _, text = line.partition("(")
        found[full] = text.removesuffix(")")
    return found


def _resolved(full: str) -> Any:
    """Return the object of a name, or None."""
    found: Any = tf
    for name in full.split(".")[1:]:
        try:
            found = getattr(found, name)
        except AttributeError:
            return None
    return found


def _split(text: str) -> list[str]:
    """Return the parameters without *args and **kwargs."""
    # Signatures of decorated class methods of TensorFlow include the class.
    return [part for part in text.removeprefix("cls, ").split(", ") if part and part[0] != "*"]


def _ours(value: Any) -> str | None:
    try:
        return parameters_of(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return None


def _problem(theirs: str, ours: str) -> str | None:
    wanted, found = _split(theirs), _split(ours)
    names = [part.partition("=")[0] for part in found]
    for position, part in enumerate(wanted):
        name, _, default = part.partition("=")
        if position >= len(names) or names[position] != name:
            return f"({ours}) instead of ({theirs})"
        ours_default = found[position].partition("=")[2]
        if default != ours_default and "<>" not in (default, ours_default):
            return f"{name}={ours_default} instead of {part}"
    extra = found[len(wanted) :]
    if any("=" not in part for part in extra):
        return f"needs {extra} besides ({theirs})"
    return None


@pytest.mark.slow
def test_public_functions_take_what_tensorflows_take() -> None:
    """Names, order and defaults are equal; tfnb may have more parameters at the end."""
    problems, compared = [], 0
    for full, theirs in _golden().items():
        value = None if full in _NOT_COMPARED or full in _OF_UNITTEST else _resolved(full)
        ours = None if value is None else _ours(value)
        if ours is None:
            continue
        if re.fullmatch(r"(self, )?\*args, \*\*kw\w+", theirs):
            continue  # TensorFlow does not say
        compared += 1
        problem = _problem(theirs, ours)
        if problem is not None:
            problems.append(f"{full}: {problem}")
    assert not problems, "\n".join(problems)
    assert compared > 2000


def _arguments(text: str) -> tuple[list[str], list[str]]:
    """Return the names of positional parameters, and of keyword-only ones."""
    before, star, after = text.removeprefix("cls, ").partition("*")
    if star and not after.startswith(("*", ",")):
        after = after.partition(", ")[2]
    names: tuple[list[str], list[str]] = ([], [])
    for place, part in ((0, before), (1, after)):
        for one in part.split(", "):
            name = one.partition("=")[0].strip(", ")
            if name and not name.startswith("*"):
                names[place].append(name)
    return names


def _refusal(value: Any, args: list[Any], kwargs: dict[str, Any]) -> str | None:
    """Return the error about number and names of arguments, or None."""
    if isinstance(value, OpDefinition):
        # Its signature is only for help: the test checks real calls.
        nothing_that_an_op_takes = object()
        args = [nothing_that_an_op_takes] * (len(args) - 1) + args[-1:]
        with tf.Graph().as_default():
            try:
                value(*args, **kwargs)
            except (TypeError, ValueError) as error:
                found = re.search("takes at most|unexpected keyword|multiple values", str(error))
                return str(error) if found else None
        return None
    while True:
        # Each layer of a decorated function accepts the arguments.
        is_written_in_python = not hasattr(value, "cache_info")
        signature = inspect.signature(value, follow_wrapped=not is_written_in_python)
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            return f"{error}: {signature}"
        if not hasattr(value, "__wrapped__"):
            return None
        value = value.__wrapped__


@pytest.mark.slow
def test_public_functions_are_called_as_tensorflows_are() -> None:
    """All positional parameters are accepted by position, and by name."""
    problems, called = [], 0
    for full, text in _golden().items():
        value = None if full in _NOT_COMPARED or full in _OF_UNITTEST else _resolved(full)
        if value is None or _ours(value) is None or re.match(r"(self, )?\*args, \*\*kw", text):
            continue
        called += 1
        by_position, by_name = _arguments(text)
        last = [None] if by_position else []
        problem = _refusal(value, [0] * (len(by_position) - 1) + last, dict.fromkeys(by_name))
        if problem is None and not isinstance(value, OpDefinition):
            first = [0] if by_position[:1] == ["self"] else []
            names = [name for name in by_position[len(first) :] if name != "function"]
            if len(names) == len(by_position) - len(first):
                problem = _refusal(value, first, dict.fromkeys([*names, *by_name]))
        if problem is not None:
            problems.append(f"{full}({text}): {problem}")
    assert not problems, "\n".join(problems)
    assert called > 2000


def test_bare_ops_take_their_name_by_position() -> None:
    """None means the op's own name; giving the name twice is an error."""
    with tf.Graph().as_default():
        x = tf.constant([1.0, -1.0])
        assert tf.nn.relu(x, None).op.name == "Relu"
        assert tf.nn.relu(x, "mine").op.name == "mine"
        assert tf.bitcast(x, tf.int32, None).op.name == "Bitcast"
        with pytest.raises(TypeError, match="multiple values for argument 'name'"):
            tf.nn.relu(x, None, name="mine")
        with pytest.raises(TypeError, match=r"at most 2 arguments \(features, name\), got 3"):
            tf.nn.relu(x, None, None)


def test_ops_say_what_they_take() -> None:
    """Signatures of ops are available to help and completion, without building a node."""
    assert str(inspect.signature(tf.bitcast)) == "(input, type, name=None)"
    assert "num_bits=8" in str(inspect.signature(tf.fake_quant_with_min_max_args))
