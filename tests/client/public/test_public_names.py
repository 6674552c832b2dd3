"""The public names of ``tfnb``: complete, lazy, with advice for missing ones."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import tfnb as tf
from tests.client.public.tensorflow_names import tensorflow_names
from tfnb.client import public
from tfnb.client.public import missing

ROOT = Path(__file__).parents[3]


def test_every_listed_name_can_be_had() -> None:
    """Every name in the table can be imported."""
    broken = []
    for namespace, names in public.names().items():
        for name in names:
            try:
                public.resolve(namespace, name)
            except (AttributeError, ImportError) as error:
                broken.append(f"{namespace}.{name}: {error}")
    assert broken == []


def test_dir_lists_names_before_they_are_used() -> None:
    """dir() lists all names before they are used."""
    assert {"Session", "Graph", "float32", "placeholder", "nn", "errors"} <= set(dir(tf))
    assert {"relu", "softmax"} <= set(dir(tf.nn))
    assert {"Switch", "MatMul"} <= set(dir(tf.raw_ops))


def test_namespaces_can_be_imported_as_modules() -> None:
    """``import tfnb.nn`` and ``tfnb.nn`` are the same object."""
    nn = importlib.import_module("tfnb.nn")
    assert nn is tf.nn
    assert importlib.import_module("tfnb.compat.v1") is tf


def test_raw_ops_take_keywords() -> None:
    """raw_ops accept keywords only, as in TensorFlow."""
    with tf.Graph().as_default():
        false_side, true_side = tf.raw_ops.Switch(data=tf.constant(1.0), pred=tf.constant(True))
        assert false_side.op is true_side.op
        with pytest.raises(TypeError, match="positional"):
            tf.raw_ops.Identity(tf.constant(1.0))


@pytest.mark.parametrize(
    ("namespace", "name", "match"),
    [
        (tf, "contrib", "TensorFlow dropped it"),
        (tf, "contrib", r"contrib\.rnn in tf\.nn\.rnn_cell"),
        (tf.nn, "rnn", r"use tf\.nn\.static_rnn"),
        (tf.layers, "fully_connected", r"use tf\.layers\.dense"),
        (tf, "GradientTape", r"use tf\.gradients"),
        (tf, "mul", r"use tf\.multiply"),
        (tf, "placeholderr", "Did you mean 'placeholder'"),
        (tf, "no_such_thing_at_all", "module 'tfnb' has no attribute 'no_such_thing_at_all'"),
        (tf.raw_ops, "TPUReplicate", "module 'tfnb.raw_ops' has no attribute 'TPUReplicate'"),
    ],
)
def test_missing_names_say_what_to_do(namespace: object, name: str, match: str) -> None:
    """The error names a replacement or similar names, or says that there is none."""
    with pytest.raises(AttributeError, match=match):
        getattr(namespace, name)


@pytest.mark.parametrize("name", ["__versions__", "_placeholder"])
def test_private_names_are_missing_without_advice(name: str) -> None:
    """The error for private names has no advice, because tools probe them often."""
    with pytest.raises(AttributeError) as caught:
        getattr(tf, name)
    assert str(caught.value) == f"module 'tfnb' has no attribute {name!r}"


@pytest.mark.slow
def test_every_missing_name_of_tensorflow_says_what_replaces_it() -> None:
    """Each missing public name of TensorFlow has advice."""

    def is_there(full: str) -> bool:
        found: object = tf
        try:
            for name in full.split(".")[1:]:
                found = getattr(found, name)
        except AttributeError:
            return False
        return True

    names = tensorflow_names()
    unanswered = [full for full in names if not missing.is_answered(full) and not is_there(full)]
    assert unanswered == []
    with pytest.raises(AttributeError, match=r"tfnb does not compile through XLA"):
        tf.xla  # noqa: B018


def test_versions_are_those_of_the_last_tensorflow_1() -> None:
    """The versions are those that programs of TensorFlow 1 check."""
    assert tf.VERSION.startswith("1.15")
    assert tf.version.GRAPH_DEF_VERSION == tf.GRAPH_DEF_VERSION > 1000


def test_switches_to_tensorflow_1_are_accepted() -> None:
    """Calls at the beginning of many programs are accepted."""
    tf.disable_v2_behavior()
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    assert not tf.executing_eagerly()


@pytest.mark.parametrize("name", ["enable_eager_execution", "enable_v2_behavior"])
def test_switches_to_tensorflow_2_are_refused(name: str) -> None:
    """The error gives the reason."""
    with pytest.raises(ValueError, match="tfnb runs TensorFlow 1 graphs"):
        getattr(tf, name)()


@pytest.mark.slow
def test_table_and_stubs_are_up_to_date() -> None:
    """`make tables` was run after the last change of public names."""
    script = ROOT / "scripts" / "generate_public_names.py"
    check = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert check.stdout + check.stderr == ""


def test_a_name_waits_for_families_that_another_thread_imports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are in sys.modules before tensors have their operators."""
    asked = []

    def imported(name: str) -> object:
        asked.append(name)
        return importlib.import_module(name)

    monkeypatch.setattr(public, "imported", imported)
    public.resolve("nn", "relu")
    assert asked[:-1] == list(public._BASE_FAMILIES)


@pytest.mark.slow
def test_importing_the_package_imports_what_nearly_every_graph_needs() -> None:
    """Other ops and the runtime are not imported before they are used."""
    code = (
        "import sys, tfnb; rooms = 'tfnb.library.', 'tfnb.common_runtime.', 'tfnb.graph.'\n"
        "print(*(m for m in sys.modules if m.startswith(rooms)\n"
        "    or m.startswith('tfnb.ops.') and m.endswith('_ops')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    families = ("array.array_ops", "array.constant_ops", "array.identity_ops")
    assert sorted(run.stdout.split()) == [
        *(f"tfnb.ops.{family}" for family in families),
        "tfnb.ops.math.cwise_binary_ops",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "t = tf.Graph().create_op('Placeholder', [], attrs={'dtype': tf.float32, 'shape': None}"
        ").outputs[0]; t + 1.0",
        "tf.placeholder(tf.float32) * 2.0",
        "-tf.constant(1.0)",
    ],
)
def test_tensors_have_operators_from_the_start(statement: str) -> None:
    """Operators work on the first tensor, whichever function made it."""
    code = f"import tfnb as tf\nwith tf.Graph().as_default(): {statement}"
    if "Graph().create_op" in statement:
        code = code.replace("tf.Graph().create_op", "tf.get_default_graph().create_op")
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert run.stderr == ""


@pytest.mark.slow
def test_the_table_of_names_is_up_to_date() -> None:
    """`make tables` was run after the last change of public names."""
    script = ROOT / "scripts" / "generate_names_table.py"
    check = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert check.stdout + check.stderr == ""


def test_a_name_that_the_table_lacks_imports_no_family() -> None:
    """The table is complete: a missing name does not cause a search in the modules."""
    code = (
        "import sys, tfnb\nbefore = set(sys.modules)\n"
        "print(hasattr(tfnb.nn, 'no_such_name'), hasattr(tfnb, 'no_such_name'))\n"
        "rooms = ('tfnb.ops.', 'tfnb.library.')\n"
        "print([m for m in set(sys.modules) - before if m.startswith(rooms)])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout.split("\n") == ["False False", "[]", ""]
