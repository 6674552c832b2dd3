"""What functions, classes and methods take: TensorFlow's names, order and defaults."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.client.signature_text import parameters_of

GOLDEN = Path(__file__).parents[1] / "golden" / "signatures.txt"

# Parameters that came after TensorFlow 1, for what is not here.
_LATER = {
    "canonicalized_coordinates": "XLA's form of the op",
    "experimental_image_format": "models of several files",
    "experimental_image_writer_options": "models of several files",
    "experimental_is_anonymous": "eager tables",
    "layout": "tensors over several machines",
    "skip_gradients_aggregation": "strategies for several machines",
    "sorted_input": "XLA's form of the op",
    "tile_size": "XLA's form of the op",
    "use_pybind11_proto": "how TensorFlow is built",
    "allow_fast_lookup": "an optimization for TPUs",
    "relative_tolerance": "of messages; assertAllClose compares arrays",
}
# What is made here by other means than a call of its class, or by a call of its own.
_NOT_COMPARED = {
    "tf.DType": "dtypes are there already",
    "tf.Operation": "Graph.create_op makes them",
    "tf.Tensor": "ops make them",
    "tf.data.Dataset": "from_tensor_slices and its like make them",
    "tf.data.Iterator": "make_one_shot_iterator and its like make them",
    "tf.dtypes.DType": "dtypes are there already",
}
# Methods that absl's or unittest's TestCase has with other names of arguments.
_OF_UNITTEST = (
    "tf.test.TestCase.assertMultiLineEqual",
    "tf.test.TestCase.assertRaisesRegexp",
    "tf.test.TestCase.enter_context",
    "tf.test.TestCase.fail",
)


def _golden() -> dict[str, str]:
    found = {}
    for line in GOLDEN.read_text().splitlines():
        full, _, text = line.partition("(")
        found[full] = text.removesuffix(")")
    return found


def _resolved(full: str) -> Any:
    """What a name means; None where there is none."""
    found: Any = tf
    for name in full.split(".")[1:]:
        try:
            found = getattr(found, name)
        except AttributeError:
            return None
    return found


def _split(text: str) -> list[str]:
    """The parameters, without those that came later and those that take the rest."""
    # Decorated class methods of TensorFlow show their class.
    parts = [part for part in text.removeprefix("cls, ").split(", ") if part and part[0] != "*"]
    return [part for part in parts if part.partition("=")[0] not in _LATER]


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
    """Names, order and defaults; more arguments may follow."""
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


def test_ops_say_what_they_take() -> None:
    """For help and completion, without a node being built."""
    assert str(inspect.signature(tf.bitcast)) == "(input, type, name=None)"
    assert "num_bits=8" in str(inspect.signature(tf.fake_quant_with_min_max_args))
