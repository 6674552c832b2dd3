"""Functions that ops call from upper folders: declared in ops, defined in library."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tfnb.core.provided import Provided
from tfnb.framework import functions_above as above_framework
from tfnb.library import provides
from tfnb.library.control_flow import functions_above as above_control_flow
from tfnb.library.data import functions_above as above_data
from tfnb.library.training import functions_above as above_training
from tfnb.ops.base import provided_functions

if TYPE_CHECKING:
    from pathlib import Path


def _declared() -> dict[str, Provided]:
    modules = (
        above_framework,
        provided_functions,
        above_control_flow,
        above_data,
        above_training,
    )
    found = [one for module in modules for one in vars(module).items()]
    return {name: one for name, one in found if isinstance(one, Provided)}


def test_every_declared_function_is_provided_and_no_other() -> None:
    """The declared and the provided names are equal."""
    assert set(_declared()) == set(provides.PROVIDED)


@pytest.mark.parametrize("name", sorted(provides.PROVIDED))
def test_a_provided_function_is_found_under_its_name(name: str) -> None:
    """The declaration has the name of an existing function."""
    assert _declared()[name].name == name
    assert callable(provides.find(name))


def test_a_function_that_no_room_provides_is_refused() -> None:
    """The error names the function."""
    with pytest.raises(RuntimeError, match="No room provides 'unknown'"):
        Provided("unknown")()


BUILD = """
import sys
import tfnb as tf
if sys.argv[2] == "functions":
    tf.enable_control_flow_v2()
x = tf.placeholder(tf.float32, [], name="x")
array = tf.TensorArray(tf.float32, 2).write(0, x).write(1, x * x)
loop = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1]
branch = tf.cond(x > 0.0, lambda: x * 2.0, lambda: x)
tf.add_n([array.read(1), loop, branch], name="y")
tf.train.export_meta_graph(sys.argv[1])
"""

DIFFERENTIATE = """
import sys
import tfnb as tf
tf.train.import_meta_graph(sys.argv[1])
graph = tf.get_default_graph()
y, x = graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0")
print(tf.Session().run(tf.gradients(y, x)[0], {x: 2.0}))
"""


@pytest.mark.parametrize("control_flow", ["primitives", "functions"])
def test_gradients_of_an_imported_graph_need_no_import_by_hand(
    control_flow: str, tmp_path: Path
) -> None:
    """tf.gradients imports everything that gradients of loops, conds and arrays need."""
    target = str(tmp_path / "graph.meta")
    outputs = []
    for program in (BUILD, DIFFERENTIATE):
        run = subprocess.run(
            [sys.executable, "-c", program, target, control_flow],
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        outputs.append(run.stdout)

    # The derivative of x^2 + x^4 + 2 x at 2.
    np.testing.assert_allclose(float(outputs[1]), 4.0 + 32.0 + 2.0)
