"""Names of NumPy, SciPy and Python that programs of TensorFlow 1 use, under `tfnb run`."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb
from tfnb.as_tensorflow import scipy_misc
from tfnb.as_tensorflow.sources.older_calls import ProgramFinder, code_of_program

if TYPE_CHECKING:
    from pathlib import Path

_PROGRAM = """\
import collections, inspect, time
import numpy as np
import scipy.misc
from scipy import misc
from scipy.misc import imresize
from scipy.sparse.linalg.eigen.arpack import eigsh
from sklearn.cross_validation import train_test_split
from sklearn.externals import joblib

assert np.float is float and np.int is int and np.bool is not None and np.Inf == np.inf
assert np.zeros(1, np.float).dtype == "float64" and np.product([2, 3]) == 6
assert np.mat("1 2").shape == (1, 2) and np.NINF < 0 and np.rank([[1]]) == 2
assert np.asscalar(np.array([3])) == 3
assert np.lib.pad([1], 1, "constant").tolist() == [0, 1, 0] and np.lib.tile is np.tile
assert issubclass(np.VisibleDeprecationWarning, Warning) and np.AxisError is not None
assert all(type(f([1], [2])) is list for f in (np.meshgrid, np.broadcast_arrays, np.atleast_2d))
assert np.atleast_1d(3).tolist() == [3] and np.lib.meshgrid is np.meshgrid
assert issubclass(dict, collections.Mapping)
assert inspect.getargspec(lambda a, b=1, *c: a) == (["a", "b"], "c", None, (1,))
assert time.clock() <= time.clock()
assert misc.imresize is scipy.misc.imresize is imresize and callable(eigsh)
assert callable(train_test_split) and callable(joblib.dump)
rows = np.array([(np.zeros(3), np.zeros(2)), (np.ones(3), np.ones(2))])
assert rows.shape == (2, 2) and rows.dtype == object
assert np.array([1, 2], copy=False).tolist() == [1, 2]
assert np.array([200, -1], dtype=np.int8).tolist() == [-56, -1]
assert np.fromstring(b"\\x01\\x02", np.uint8).tolist() == [1, 2]
assert np.fromstring("a", np.uint8, 1).flags.writeable
assert np.fromstring("1 2", sep=" ").tolist() == [1, 2]
assert np.in1d([[1, 2]], [2]).tolist() == [False, True]
assert np.msort([[2], [1]]).tolist() == [[1], [2]] and np.asfarray([1]).dtype == "float64"
assert np.reshape(np.arange(4), newshape=(2, 2)).shape == np.reshape(range(4), (2, 2)).shape
try:
    np.array([[1], [2, 3]], dtype=float)
except ValueError as error:
    print("refused", "inhomogeneous" in str(error))
"""


def test_a_program_has_names_that_were_dropped(tmp_path: Path) -> None:
    """NumPy's, SciPy's, scikit-learn's and Python's own."""
    (tmp_path / "old.py").write_text(_PROGRAM)
    found = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", "-m", "tfnb", "run", "old.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (found.stdout, found.returncode) == ("refused True\n", 0), found.stderr


_NUMBERS = """\
'''A program of 2018.'''
from __future__ import print_function
import math
import numpy as np
import tensorflow as tf
import helpers

truths = np.array([True, False])
for values in (truths, [truths[0], 3], (x for x in truths)):
    print(*tf.train.Int64List(value=values).value, end=" ")
places = [slice(None), 1]
table = np.arange(6).reshape(2, 3)
table[places] = 7
numbers, key = [1, 0], "a"
print(table[places], table[numbers][:, 0], {"a": 5}[key], np.unicode is str)
one = np.array([[2.6]])
print(int(one), float(one), complex(one), math.floor(one), math.pow(one, 1))
print("%d %.1f %s" % (one, one, [1]), "%.1f" % one, "%(a)d" % {"a": one})
print(np.arange(2, dtype=np.int8).tostring(), helpers.half(np.array([7])))
for wrong in (lambda: int(np.ones(2)), lambda: "%d" % "a", lambda: "%d" % np.ones(2)):
    try:
        wrong()
    except TypeError as error:
        print(type(error).__name__, error.__traceback__.tb_next.tb_lineno)
"""
_HELPERS = """\
def half(x): return int(x) / 2
"""


@pytest.mark.parametrize("as_module", [False, True])
def test_a_program_takes_an_array_of_one_element_for_a_number(
    tmp_path: Path, as_module: bool
) -> None:
    """In the program and in its modules, as before NumPy 2.4; other arrays are refused."""
    (tmp_path / "old.py").write_text(_NUMBERS)
    (tmp_path / "helpers.py").write_text(_HELPERS)
    what = ["-m", "old"] if as_module else ["old.py"]
    found = subprocess.run(
        [sys.executable, "-m", "tfnb", "run", *what],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stdout.splitlines() == [
        "1 0 1 3 1 0 [7 7] [3 0] 5 True",
        "2 2.6 (2.6+0j) 2 2.6",
        "2 2.6 [1] 2.6 2",
        "b'\\x00\\x01' 3.5",
        *["TypeError 20"] * 3,
    ], found.stderr
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.parametrize(
    "source",
    [b"def int(x): return x\nx = int(3)", b"x = int('3', 8)", b"x = '%d' % 3", b"'a'\nx = 3 % 2"],
)
def test_changed_calls_of_programs_give_what_they_gave(source: bytes) -> None:
    """A name that the program defines itself is its own."""
    plain: dict[str, object] = {}
    changed: dict[str, object] = {}
    exec(compile(source, "plain", "exec"), plain)
    exec(code_of_program(source, "changed"), changed)
    assert plain["x"] == changed["x"]


def test_installed_modules_without_tensorflow_are_left_alone(tmp_path: Path) -> None:
    """As are Python's own, and a program whose source is none is refused as before."""
    finder = ProgramFinder()
    assert finder.find_spec("json", None) is None
    assert finder.find_spec("tfnb.ops", [*tfnb.__path__]) is None
    assert finder.find_spec("no_module_of_this_name", None) is None
    with pytest.raises(SyntaxError, match="print"):
        code_of_program(b"print 'int(3)'", str(tmp_path / "old.py"))


def test_other_processes_do_not_get_them() -> None:
    """`install_as_tensorflow` changes nothing of NumPy."""
    code = "import tfnb, numpy; tfnb.install_as_tensorflow(); numpy.float"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "AttributeError" in found.stderr


def test_pictures_are_written_read_and_sized(tmp_path: Path) -> None:
    """As bytes; other values are scaled to the whole range."""
    picture = np.zeros([4, 6, 3], np.uint8)
    picture[:2] = [255, 0, 10]
    path = tmp_path / "a.png"
    scipy_misc.imsave(path, picture)

    np.testing.assert_array_equal(scipy_misc.imread(path), picture)
    assert scipy_misc.imread(path, flatten=True).shape == (4, 6)
    assert scipy_misc.imread(path, mode="L").dtype == np.uint8
    assert scipy_misc.imresize(picture, (8, 3)).shape == (8, 3, 3)
    assert scipy_misc.imresize(picture, 50).shape == (2, 3, 3)
    assert scipy_misc.imresize(picture, 2.0, interp="cubic").shape == (8, 12, 3)
    np.testing.assert_array_equal(scipy_misc.imrotate(picture, 180), picture[::-1, ::-1])


@pytest.mark.parametrize(
    ("given", "options", "expected"),
    [
        ([[0.0, 0.5], [1.0, 0.25]], {}, [[0, 128], [255, 64]]),
        ([[-1.0, 3.0]], {"cmin": 0.0, "cmax": 1.0}, [[0, 255]]),
        ([[0.0, 1.0]], {"high": 100, "low": 50}, [[50, 100]]),
        ([[7.0, 7.0]], {}, [[0, 0]]),
    ],
)
def test_values_are_scaled_to_bytes(
    given: list[list[float]], options: dict[str, float], expected: list[list[int]]
) -> None:
    """The smallest is 0, the largest 255, unless limits are given."""
    assert scipy_misc.bytescale(np.array(given), **options).tolist() == expected


@pytest.mark.parametrize("order", [3, 5])
def test_derivatives_are_central_differences(order: int) -> None:
    """Exact for a square, with further arguments of the function."""
    for n, expected in ((1, 12.0), (2, 4.0)):
        found = scipy_misc.derivative(lambda x, a: a * x * x, 3.0, 0.5, n, (2.0,), order)
        assert found == pytest.approx(expected)
    with pytest.raises(ValueError, match="order must be 3 or 5"):
        scipy_misc.derivative(abs, 0.0, order=4)


def test_functions_that_moved_to_special_are_there() -> None:
    """Others are not."""
    assert scipy_misc.comb(4, 2) == 6
    assert scipy_misc.logsumexp([0.0, 0.0]) == pytest.approx(np.log(2))
    assert not hasattr(scipy_misc, "who")


def test_arrays_that_are_no_pictures_are_refused() -> None:
    """Channels may be on any axis."""
    first = np.zeros([3, 5, 7], np.uint8)
    assert scipy_misc.toimage(first).size == (7, 5)
    assert scipy_misc.toimage(np.zeros([5, 7]), mode="F").mode == "F"
    assert scipy_misc.toimage(np.zeros([2, 2]), mode="RGB").mode == "RGB"
    with pytest.raises(ValueError, match="suitable array shape"):
        scipy_misc.toimage(np.zeros([5, 7, 2]))
    with pytest.raises(ValueError, match="cmax"):
        scipy_misc.bytescale(np.zeros([2]), cmin=1.0, cmax=0.0)
    with pytest.raises(ValueError, match="low"):
        scipy_misc.bytescale(np.zeros([2]), low=-1)
