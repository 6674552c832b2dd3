"""What a program reads where Keras 2, or what it needs, is not there."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tfnb.as_tensorflow.keras import loading
from tfnb.as_tensorflow.served_names import what_stops

if TYPE_CHECKING:
    from pathlib import Path


def _installed(folder: Path, source: str) -> None:
    (folder / "keras").mkdir()
    (folder / "keras" / "__init__.py").write_text(source)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder from which packages are imported before others."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("as_tensorflow")
@pytest.mark.parametrize("name", ["keras", "keras.layers", "tensorflow.keras"])
@pytest.mark.parametrize("source", ["__version__ = '3.3.3'", "from keras.src import version"])
def test_another_keras_is_refused_with_what_to_install(
    folder: Path, name: str, source: str
) -> None:
    """Before any of it runs."""
    _installed(folder, f"{source}\nraise RuntimeError('this ran')")
    with pytest.raises(
        ModuleNotFoundError, match=r"Keras .* is installed, .* type pip install 'tfnb\[keras\]'"
    ):
        importlib.import_module(name)


@pytest.mark.usefixtures("as_tensorflow")
def test_a_program_that_asks_whether_keras_is_there_gets_an_answer(folder: Path) -> None:
    """The attribute is missing, with the same sentence."""
    _installed(folder, "__version__ = '3.3.3'")
    tf = importlib.import_module("tensorflow")

    assert not hasattr(tf, "keras")
    with pytest.raises(AttributeError, match=r"Keras 3\.3 is installed"):
        _ = tf.keras
    assert "Keras 3.3 is installed" in str(what_stops("tensorflow.keras.layers"))


@pytest.mark.usefixtures("as_tensorflow")
@pytest.mark.parametrize("package", ["keras", "keras_applications", "scipy", "yaml"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra that installs it."""
    find = loading.PathFinder.find_spec

    def find_all_but_one(name: str, *others: object) -> object:
        return None if name == package else find(name, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(loading.PathFinder, "find_spec", find_all_but_one)
    with pytest.raises(ModuleNotFoundError, match=f"{package}; type pip install"):
        importlib.import_module("tensorflow.keras")


@pytest.mark.usefixtures("as_tensorflow")
def test_keras_that_was_imported_before_is_not_mixed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its modules are built on another TensorFlow."""
    monkeypatch.setitem(sys.modules, "keras", type(sys)("keras"))
    with pytest.raises(ModuleNotFoundError, match="keras was imported before tfnb answered"):
        importlib.import_module("tensorflow.keras")


@pytest.mark.parametrize("name", ["tensorflow.keras.layers.Dense", "tensorflow.python.keras"])
def test_the_doctor_knows_that_keras_is_there(name: str) -> None:
    """No name of Keras is reported."""
    assert what_stops(name) is None


def test_without_h5py_a_save_says_what_to_install(tmp_path: Path) -> None:
    """Nothing else is printed, also when Python ends with a session of Keras' own."""
    code = (
        f"import os, sys; os.environ['KERAS_HOME'] = {str(tmp_path)!r}\n"
        "sys.modules['h5py'] = None\n"
        "import tfnb; tfnb.install_as_tensorflow()\n"
        "from keras.models import Sequential\n"
        "from keras.layers import Dense\n"
        "model = Sequential([Dense(1, input_shape=(2,))])\n"
        "model.get_weights()\n"
        "try:\n"
        f"    model.save({str(tmp_path / 'model.h5')!r})\n"
        "except ImportError as error:\n"
        "    print(error, file=sys.stderr)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert found.stderr.splitlines() == [
        "Using TensorFlow backend.",
        "`save_model` requires h5py: type pip install h5py",
    ]
