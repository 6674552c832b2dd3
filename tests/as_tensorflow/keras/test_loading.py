"""How Keras is found and mended, and what a program reads where it cannot be."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

from tfnb.as_tensorflow.keras import helpers
from tfnb.as_tensorflow.keras.mends import MENDS, mends_of

if TYPE_CHECKING:
    from tfnb.as_tensorflow.sources.mending import Mend


@pytest.mark.parametrize(
    ("name", "of_keras"),
    [
        ("tensorflow.keras", "keras"),
        ("tensorflow.keras.layers", "keras.layers"),
        ("tensorflow.compat.v1.keras.models", "keras.models"),
        ("tensorflow.contrib.keras", "keras"),
    ],
)
@pytest.mark.usefixtures("keras")
def test_a_module_has_two_names(name: str, of_keras: str) -> None:
    """So that layers and models of both can be mixed."""
    assert importlib.import_module(name) is importlib.import_module(of_keras)


@pytest.mark.usefixtures("keras")
@pytest.mark.parametrize(
    "path",
    ["layers.Dense", "layers.core.Dense", "backend.get_value", "engine.training.Model", "Model"],
)
def test_internal_modules_have_the_objects_of_keras(path: str) -> None:
    """As `from tensorflow.python.keras.layers.core import Dense`."""
    module, _, name = f".{path}".rpartition(".")
    found = importlib.import_module(f"tensorflow.python.keras{module}")

    assert getattr(found, name) is getattr(importlib.import_module(f"keras{module}"), name)


def test_what_keras_lacks_is_that_of_tensorflow(keras: Any, tf: Any) -> None:
    """Layers of tf-slim are specified by it."""
    engine = importlib.import_module("tensorflow.python.keras.engine")

    assert engine.input_spec.InputSpec is tf.layers.InputSpec
    assert engine.base_layer.InputSpec is keras.layers.InputSpec


def test_tensorflow_has_keras_as_an_attribute(keras: Any, tf: Any) -> None:
    """As `tf.keras.layers.Dense`."""
    assert tf.keras is tf.compat.v1.keras is keras
    assert keras.layers.__name__ == "keras.layers"


@pytest.mark.usefixtures("keras")
def test_an_internal_module_that_keras_lacks_refuses_where_it_is_used() -> None:
    """Programs import more than they use."""
    module = importlib.import_module("tensorflow.python.keras.saving.nothing")
    with pytest.raises(NotImplementedError, match="internal to TensorFlow"):
        module.Thing()
    with pytest.raises(ModuleNotFoundError, match=r"tensorflow\.keras\.nothing"):
        importlib.import_module("tensorflow.keras.nothing")


# Name of a mend -> source of the kind that it changes, and what it becomes.
SAMPLES = {
    "abstract collections": (
        "import collections\nx = isinstance(y, collections.Mapping)\n",
        "import collections.abc\nx = isinstance(y, collections.abc.Mapping)\n",
    ),
    "infinity": ("best = -np.Inf\n", "best = -np.inf\n"),
    "bytes": ("kind == np.string_\n", "kind == np.bytes_\n"),
    "texts": ("np.issubdtype(dtype, np.unicode_)\n", "np.issubdtype(dtype, np.str_)\n"),
    "lists of slices": ("a[slices]\n", "a[tuple(slices)]\n"),
    "sizes of shapes": ("d = x.get_shape()._dims\n", "d = x.get_shape().dims\n"),
    "second names": ("class Layer(object):\n", "class Layer:\n"),
    "device scopes": ("    g._apply_device_functions(op)\n", "    return _device_of_scope(g)\n"),
    "versions": (
        "from distutils.version import StrictVersion\n",
        "from tfnb.as_tensorflow.keras.helpers import Version as StrictVersion\n",
    ),
    "arguments of functions": ("inspect.getargspec(f)\n", "inspect.getfullargspec(f)\n"),
    "texts in files": (
        "a = group['b'].decode('utf8')\nif weight_names:\n    pass\n",
        "a = _text(group['b'])\nif len(weight_names):\n    pass\n",
    ),
    "texts of attributes": ("group.attrs[name] = data\n", "group.attrs[name] = _attribute(data)\n"),
    "YAML": ("yaml.load(text)\n", "yaml.load(text, Loader=yaml.FullLoader)\n"),
    "h5py missing": (
        "raise ImportError('`f` requires h5py.')\n",
        "raise ImportError('`f` requires h5py: type pip install h5py')\n",
    ),
    "the backend": ("    _BACKEND = _backend\n", "    _BACKEND = 'tensorflow'\n"),
    "names of the backend": (
        "from .load_backend import epsilon\n",
        "from tfnb.as_tensorflow.keras.helpers import name_of_backend as __getattr__;"
        " from .load_backend import epsilon\n",
    ),
    "layers of tf.keras": (
        "from .wrappers import Bidirectional\n",
        "from .wrappers import Bidirectional, Wrapper\n",
    ),
    "the backend of tf.keras": (
        "from tensorflow.python.keras.utils import tf_utils\n",
        "from tfnb.as_tensorflow.keras import reachable as tf_utils\n",
    ),
}


@pytest.mark.parametrize("mend", MENDS, ids=lambda mend: mend.name)
def test_a_mend_changes_what_it_is_for_and_nothing_else(mend: Mend) -> None:
    """Lines keep their numbers; the names that new lines use follow the source."""
    source, expected = SAMPLES[mend.name]

    assert mend.of(source).startswith(expected)
    assert mend.of(source).count("\n") <= source.count("\n") + 1
    assert mend.of("x = 1\n") == "x = 1\n"
    assert mend.of(expected).startswith(expected)


def test_a_module_without_mends_is_left_alone() -> None:
    """Its source is loaded as it is."""
    assert mends_of("keras.losses") == ()


def test_helpers_of_mended_modules() -> None:
    """Versions are compared by number; texts and attributes are as h5py 2 had them."""
    assert helpers.Version("1.15.5") > helpers.Version("1.8.0") == helpers.Version("1.8.0")
    assert helpers.text(b"a") == helpers.text("a") == "a"
    assert helpers.attribute([b"ab", b"c"]).dtype == "S2"
    assert helpers.attribute("a") == "a"
    assert helpers.attribute([]) == []
