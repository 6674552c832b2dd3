"""`tfnb run script.py`, `tfnb doctor` and `%tfnb tensorflow`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tfnb.__main__ import main
from tfnb.as_tensorflow.doctor import doctor
from tfnb.as_tensorflow.program import is_program

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """\
import sys
import tensorflow as tf
from tensorflow.python.framework import ops

x = tf.placeholder(tf.float32, name="x")
with tf.Session() as session:
    print(session.run(tf.add(x, 1), {x: 2}), sys.argv[1:], __name__, tf.__version__)
    sys.exit(int(sys.argv[-1]))
"""


@pytest.mark.parametrize("as_module", [False, True])
def test_a_program_runs_with_its_arguments_and_exit_code(tmp_path: Path, as_module: bool) -> None:
    """As a file, and as a module of the folder."""
    (tmp_path / "train.py").write_text(PROGRAM)
    what = ["-m", "train"] if as_module else ["train.py"]
    found = subprocess.run(
        [sys.executable, "-m", "tfnb", "run", *what, "--help", "7"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert found.stdout == "3.0 ['--help', '7'] __main__ 1.15.5\n", found.stderr
    assert found.returncode == 7


def test_a_file_whose_first_line_names_python_is_a_program(tmp_path: Path) -> None:
    """As an installed command without an ending."""
    for name, first, expected in (
        ("flow", "#! /usr/bin/env python", True),
        ("other", "#!/bin/sh", False),
        ("model.py", "x = 1", True),
        ("model", "x = 1", False),
    ):
        (tmp_path / name).write_text(first + "\n")
        assert is_program([str(tmp_path / name)]) is expected
    assert not is_program([str(tmp_path / "absent")])
    assert not is_program([])


@pytest.mark.parametrize(
    ("arguments", "code", "says"), [(["absent.py"], 3, "no file absent.py"), (["-m"], 2, "follow")]
)
def test_a_program_that_is_not_there(
    arguments: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is that of a missing file, or of wrong arguments."""
    assert main(["run", *arguments]) == code
    assert says in capsys.readouterr().err


def test_doctor_lists_what_is_missing(tmp_path: Path) -> None:
    """With the number of uses, the first place and what to do; nothing is run."""
    (tmp_path / "a.py").write_text(
        "import tensorflow as tf\n"
        "from tensorflow.python.ops import math_ops\n"
        "tf.nn.relu(tf.mul(1, 2))\n"
        "math_ops.add(1, 2)\n"
        "math_ops._private\n"
        "tf.load_op_library('x.so')\n"
        "raise SystemExit('it ran')\n"
    )
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.py").write_text(
        "from tensorflow.contrib import tensorrt\nimport numpy as np\ntensorrt.x\nnp.zeros(3)\n"
    )
    (tmp_path / "plain.py").write_text("print('no TensorFlow here')\n")
    found = doctor(tmp_path)

    assert (found.files, found.users) == (3, 2)
    assert {one.name: (one.count, one.place) for one in found.missing} == {
        "tensorflow.contrib.tensorrt": (1, "inner/b.py:1"),
        "tensorflow.contrib.tensorrt.x": (1, "inner/b.py:3"),
        "tensorflow.load_op_library": (1, "a.py:6"),
        "tensorflow.python.ops.math_ops._private": (1, "a.py:5"),
    }
    assert "a compiled op needs TensorFlow itself" in str(found)
    assert not found.is_well


@pytest.mark.parametrize(
    "name",
    [
        "tf.newaxis", "tf.app.flags.FLAGS", "tf.compat.v1.compat.v1.app.run", "tf.compat.v2.add",
        "tf.contrib.slim.nets.resnet_v1", "tf.contrib.learn.ModeKeys.TRAIN", "tf.VERSION",
        "tf.contrib.graph_editor.sgv", "tf.compat.v1.newaxis",
    ],
)  # fmt: skip
def test_doctor_calls_no_name_missing_that_is_there(tmp_path: Path, name: str) -> None:
    """Names that the finder serves."""
    path = tmp_path / "a.py"
    path.write_text(f"import tensorflow as tf\nx = {name}\n")
    assert doctor(path).is_well, str(doctor(path))


def test_doctor_reads_notebooks(tmp_path: Path) -> None:
    """Code cells, without magics."""
    source = ["%matplotlib inline\n", "import tensorflow as tf\n", "tf.constant(1)"]
    cells = [{"cell_type": "code", "source": source}, {"cell_type": "markdown", "source": "tf.x"}]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    found = doctor(path)

    assert found.is_well
    assert dict(found.uses) == {"tensorflow": 1, "tensorflow.constant": 1}


def test_doctor_reads_magics_in_blocks_and_over_lines(tmp_path: Path) -> None:
    """They may be the only line of a block; cells of another language are left out."""
    cells = [
        "if old:\n  %tensorflow_version 1.x\nelse:\n  !pip install \\\n    --upgrade x\n",
        "%%bash\nif [ -e x ]; then ls; fi\n",
        "%%time\nimport tensorflow as tf\ntf.zeros([1])\n",
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": s} for s in cells]}))
    found = doctor(path)

    assert found.is_well
    assert dict(found.uses) == {"tensorflow": 1, "tensorflow.zeros": 1}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("two.py", b"print 'hello'\n", "no Python 3"),
        ("null.py", b"a = 1\0\n", "null bytes"),
        ("code.py", b"# coding: nonsense\n", "unknown encoding"),
        ("deep.py", b"(" * 5000 + b")" * 5000, "line 1"),
        ("a.ipynb", b"{", "Expecting"),
        ("b.ipynb", b"[]", "not a notebook"),
    ],
)
def test_doctor_reports_what_it_cannot_read(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    """One file does not end the search."""
    (tmp_path / name).write_bytes(content)
    (tmp_path / "z.py").write_text("import tensorflow as tf\ntf.zeros([1])\n")
    found = doctor(tmp_path)

    ((place, reason),) = found.unread
    assert (place, found.users) == (name, 1)
    assert says in reason


def test_the_command_doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its exit code says whether all is there."""
    good = tmp_path / "good.py"
    good.write_text("import tensorflow as tf\ntf.zeros([1])\n")
    assert main(["doctor", str(good)]) == 0
    assert "all of them are there" in capsys.readouterr().out
    good.write_text("import tensorflow as tf\ntf.not_there\n")
    assert main(["doctor", str(good)]) == 1
    assert "tensorflow.not_there" in capsys.readouterr().out
    assert main(["doctor", str(tmp_path / "absent")]) == 1


def test_the_magic_switches_it_on_and_off() -> None:
    """In a shell of its own."""
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell()\n"
        "shell.run_line_magic('load_ext', 'tfnb')\n"
        "shell.run_line_magic('tfnb', 'tensorflow')\n"
        "shell.run_cell('import tensorflow as tf; print(tf.__version__)').raise_error()\n"
        "shell.run_line_magic('tfnb', 'tensorflow off')\n"
        "import sys; print('tensorflow' in sys.modules)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    lines = found.stdout.splitlines()
    assert "1.15.5" in lines, found.stdout + found.stderr
    assert lines[-1] == "False"
