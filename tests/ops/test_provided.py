"""Functions that ops and control flow call from rooms above: declared below, defined above."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tfnb as tf
from tfnb.core.provided import Provided
from tfnb.ops import functions_above, provided_functions, provides


def _declared() -> dict[str, Provided]:
    modules = (provided_functions, functions_above)
    found = [one for module in modules for one in vars(module).items()]
    return {name: one for name, one in found if isinstance(one, Provided)}


def test_every_declared_function_is_provided_and_no_other() -> None:
    """The table of what is provided has the names that are declared."""
    assert set(_declared()) == set(provides.PROVIDED)


@pytest.mark.parametrize("name", sorted(provides.PROVIDED))
def test_a_provided_function_is_found_under_its_name(name: str) -> None:
    """The declaration has the name it is called by, and there is a function."""
    assert _declared()[name].name == name
    assert callable(provides.find(name))


def test_a_function_that_no_room_provides_is_refused() -> None:
    """A call of a name that is not in the table names it."""
    with pytest.raises(RuntimeError, match="No room provides 'unknown'"):
        Provided("unknown")()


def test_gradients_of_an_imported_graph_need_no_import_by_hand() -> None:
    """tf.gradients of an imported If, While and TensorArray finds all it needs by itself."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.disable_control_flow_v2()
        array = tf.TensorArray(tf.float32, 2).write(0, x).write(1, x * x)
        loop = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1]
        branch = tf.cond(x > 0.0, lambda: x * 2.0, lambda: x)
        tf.add_n([array.read(1), loop, branch], name="y")
    text = graph.as_graph_def().SerializeToString()
    program = f"""
import tfnb as tf
graph_def = tf.GraphDef.FromString({text!r})
tf.import_graph_def(graph_def, name="")
graph = tf.get_default_graph()
y, x = graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0")
print(tf.Session().run(tf.gradients(y, x)[0], {{x: 2.0}}))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr
    np.testing.assert_allclose(float(run.stdout), 2 * 2.0 + 4 * 2.0**3 + 2.0)
