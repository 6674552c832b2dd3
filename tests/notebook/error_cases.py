"""Common errors, each as cells of a notebook; the last cell fails.

``python -m tests.notebook.error_cases`` writes their display in a terminal to
``tests/golden/error_views.txt``, to be read before it is committed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden" / "error_views.txt"

_GRAPH_DEF = (
    "import numpy as np\n"
    "def graph_def(**ops):\n"
    "    found = tf.GraphDef()\n"
    "    for name, op in ops.items():\n"
    "        found.node.add(name=name, op=op)\n"
    "    return found"
)

_MEMORY = re.compile(r"there are [\d,]+")

# name -> cells
CASES: dict[str, tuple[str, ...]] = {
    "01 placeholders without a value": (
        "x = tf.placeholder(tf.float32, [None, 3], name='x')\n"
        "rate = tf.placeholder(tf.float32, [], name='rate')\n"
        "hidden = tf.multiply(x, rate, name='hidden')",
        "loss = tf.reduce_sum(hidden, name='loss')",
        "loss.eval()",
    ),
    "03 variables without a value": (
        "a = tf.Variable(1.0, name='a')\nb = tf.get_variable('b', [2], use_resource=True)",
        "(a + b).eval()",
    ),
    "04 a variable that exists already": (
        "w = tf.get_variable('w', [2])",
        "w = tf.get_variable('w', [2])",
    ),
    "05 a key that is not in the checkpoint": (
        "with tf.Graph().as_default(), tf.Session() as s:\n"
        "    tf.Variable(1.0, name='weights'), tf.Variable(2.0, name='bias')\n"
        "    s.run(tf.global_variables_initializer())\n"
        "    tf.train.Saver().save(s, 'model')",
        "tf.Variable(1.0, name='weights_1'), tf.Variable(2.0, name='bais')\n"
        "saver = tf.train.Saver()",
        "saver.restore(tf.get_default_session(), 'model')",
    ),
    "06 a tensor of another graph": (
        "x = tf.constant(1.0, name='x')",
        "other = tf.Graph()\nwith other.as_default():\n    tf.constant(2.0, name='two')",
        "with tf.Session(graph=other) as s:\n    s.run(x)",
    ),
    "06 a tensor that its cell has replaced": (
        "%%tfnb cell model\nx = tf.constant(1.0, name='x')",
        "old = x",
        "%%tfnb cell model\nx = tf.constant(2.0, name='x')",
        "old.eval()",
    ),
    "07 a queue that nobody fills": (
        "q = tf.FIFOQueue(2, tf.float32, name='q')\ntake = q.dequeue(name='take')",
        "tf.get_default_session().run(take, options=tf.RunOptions(timeout_in_ms=2000))",
    ),
    "09 a fetch inside a loop": (
        "seen = []\n"
        "def body(i):\n"
        "    seen.append(tf.add(i, 1, name='inside'))\n"
        "    return seen[0]\n"
        "end = tf.while_loop(lambda i: i < 3, body, [0])",
        "seen[0].eval()",
    ),
    "10 a fetch without a value": (
        "p = tf.constant(False, name='p')\n"
        "no, yes = tf.raw_ops.Switch(data=tf.constant(1.0), pred=p, name='sw')\n"
        "y = tf.negative(tf.exp(yes, name='middle'), name='y')",
        "y.eval()",
    ),
    "11 a device that is not there": (
        "with tf.device('/device:CPU:7'):\n    far = tf.constant(1.0, name='far')",
        "far.eval()",
    ),
    "11 a colocation that cannot be": (
        "with tf.device('/device:CPU:0'):\n    v = tf.Variable(1.0, name='v')",
        "with tf.colocate_with(v.op):\n    u = tf.constant(2.0, name='u')\n"
        "u.op._set_device('/device:CPU:1')",
        "config = tf.ConfigProto(device_count={'CPU': 2})\n"
        "with tf.Session(config=config) as s:\n    s.run(u)",
    ),
    "13 a variable that was frozen below its assignment": (
        _GRAPH_DEF,
        "frozen = graph_def(v='Const', a='Assign')\n"
        "frozen.node[0].attr['dtype'].type = frozen.node[1].attr['T'].type = 1\n"
        "frozen.node[0].attr['value'].tensor.CopyFrom(tf.make_tensor_proto(1.0))\n"
        "frozen.node[1].input.extend(['v', 'v'])",
        "tf.import_graph_def(frozen, name='')",
    ),
    "14 a file that is no graph": (
        "from pathlib import Path\n"
        "_ = Path('big.pb').write_text('version https://git-lfs.github.com/spec/v1\\n'\n"
        "    'oid sha256:' + 64 * 'a' + '\\nsize 12345\\n')",
        "tf.summary('big.pb')",
    ),
    "16 ops that nobody registered": (
        _GRAPH_DEF,
        "unknown = graph_def(a='MyOp', b='OtherOp', fine='NoOp')",
        "tf.import_graph_def(unknown, name='')",
    ),
    "18 a name that TensorFlow dropped": ("tf.contrib.layers.fully_connected",),
    "18 a name that nobody has": ("tf.nn.rleu",),
    "21 more memory than there is": (
        "big = tf.ones([2**20, 2**22], name='big')\nloss = tf.reduce_sum(big, name='loss')",
        "loss.eval()",
    ),
    "22 a value of another shape": (
        "import numpy as np\nx = tf.placeholder(tf.float32, [None, 3], name='x')",
        "(x * 2.0).eval({x: np.zeros(3)})",
    ),
    "23 a loss without gradients": (
        "v = tf.Variable([1.0, 2.0], name='v')\n"
        "loss = tf.cast(tf.argmax(v, name='best'), tf.float32, name='loss')",
        "tf.train.GradientDescentOptimizer(0.1).minimize(loss)",
    ),
    "24 a graph of more than 2 GB": (
        "big = tf.constant([0.0] * 100, name='big')\nsmall = tf.constant(1.0, name='small')",
        "from tfnb.framework import exporter\n"
        "limit, exporter.MAX_GRAPH_DEF_BYTES = exporter.MAX_GRAPH_DEF_BYTES, 100\n"
        "try:\n"
        "    tf.get_default_graph().as_graph_def()\n"
        "finally:\n"
        "    exporter.MAX_GRAPH_DEF_BYTES = limit",
    ),
    "an op that fails": (
        "import numpy as np\nx = tf.placeholder(tf.float32, name='x')\n"
        "y = tf.matmul(x, x, name='square')",
        "y.eval({x: np.zeros((2, 3))})",
    ),
    "a Python function that fails": (
        "def invert(x):\n    return 1.0 / int(x - x)",
        "tf.py_func(invert, [tf.constant(2.0)], tf.float32, name='inverse').eval()",
    ),
    "hostile names": (
        "from tfnb.proto.graph_pb2 import GraphDef\n"
        "g = GraphDef()\n"
        "_ = g.node.add(name='<img src=x onerror=alert(1)>\\x1b[31m\\n', op='Placeholder')\n"
        "_ = g.node.add(name='n' * 100000, op='\\u202eOp')",
        "tf.import_graph_def(g, name='')",
    ),
}


def shown(name: str, shell: Any) -> str:
    """Return the shell's output of a case's last cell; cells are numbered from 1."""
    *before, last = CASES[name]
    history = shell.history_manager
    history.input_hist_raw[1:] = history.input_hist_parsed[1:] = []
    shell.execution_count = 1
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in before:
            result = shell.run_cell(cell, store_history=True)
            result.raise_error()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        shell.run_cell(last, store_history=True)
    return _MEMORY.sub("there are N", out.getvalue())


def stored() -> dict[str, str]:
    """What is stored of each case."""
    parts = GOLDEN.read_text(encoding="utf-8").split("=== ")[1:]
    return {name: text for name, _, text in (part.partition("\n") for part in parts)}


def _main() -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    import tfnb as tf

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    parts = []
    os.chdir(tempfile.mkdtemp())
    for name in CASES:
        InteractiveShell.clear_instance()
        shell = InteractiveShell.instance(config=config)
        with tf.Graph().as_default():
            shell.run_cell("%load_ext tfnb\nimport tfnb as tf")
            parts.append(f"=== {name}\n{shown(name, shell)}")
            shell.run_line_magic("unload_ext", "tfnb")
    GOLDEN.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    _main()
