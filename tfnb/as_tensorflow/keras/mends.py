"""What of Keras 2 does not run on today's Python, NumPy and h5py, and how its source is changed.

The changes are made in memory, as a module is loaded. Every change keeps the numbers of the lines,
so that tracebacks point to the lines of the installed files.
"""

from __future__ import annotations

from functools import cache

from tfnb.as_tensorflow.sources.mending import Mend

_HELPERS = "tfnb.as_tensorflow.keras.helpers"


MENDS = (
    Mend(
        "abstract collections",
        "Python 3.10 has them in collections.abc only",
        (
            "keras.callbacks",
            "keras.callbacks.callbacks",
            "keras.engine.training",
            "keras.engine.training_utils",
            "keras.utils.generic_utils",
        ),
        (
            (r"^(\s*)from collections import (Iterable|Mapping|Sequence)$",
             r"\1from collections.abc import \2"),
            (r"\bcollections\.(Container|Iterable|Mapping|Sequence)\b", r"collections.abc.\1"),
            (r"^import collections$", "import collections.abc"),
        ),
    ),
    Mend(
        "infinity",
        "NumPy 2 has inf, and no Inf",
        ("keras.callbacks", "keras.callbacks.callbacks"),
        ((r"\bnp\.Inf\b", "np.inf"),),
    ),
    Mend(
        "bytes",
        "NumPy 2 has bytes_, and no string_",
        ("keras.utils.io_utils",),
        ((r"\bnp\.string_", "np.bytes_"),),
    ),
    Mend(
        "texts",
        "NumPy 2 has str_, and no unicode_",
        ("keras_preprocessing.sequence",),
        ((r"\bnp\.unicode_", "np.str_"),),
    ),
    Mend(
        "lists of slices",
        "NumPy takes a tuple of slices as an index, and no list",
        ("keras.utils.conv_utils",),
        ((r"\[slices\]", "[tuple(slices)]"),),
    ),
    Mend(
        "sizes of shapes",
        "tensors of tfnb have shapes without the private list of TensorFlow 1",
        ("keras.backend.tensorflow_backend",),
        ((r"\.get_shape\(\)\._dims\b", ".get_shape().dims"),),
    ),
    Mend(
        "second names",
        "layers of tf.keras have variables, which are their weights, and apply, which calls them",
        ("keras.engine.base_layer",),
        ((r"^class Layer\(object\):$", "class Layer:"),),
        f"from {_HELPERS} import give_second_names as _give_names; _give_names(Layer)",
    ),
    Mend(
        "device scopes",
        "graphs of tfnb do not tell an object that is no operation its device",
        ("keras.backend.tensorflow_backend",),
        ((r"^    g\._apply_device_functions\(op\)$", "    return _device_of_scope(g)"),),
        f"from {_HELPERS} import device_of_scope as _device_of_scope",
    ),
    Mend(
        "versions",
        "Python 3.12 has no distutils",
        ("keras.backend.tensorflow_backend",),
        ((r"^from distutils\.version import StrictVersion$",
          f"from {_HELPERS} import Version as StrictVersion"),),
    ),
    Mend(
        "arguments of functions",
        "Python 3.11 has no inspect.getargspec and no inspect.ArgSpec",
        ("keras.utils.generic_utils", "keras.preprocessing.image"),
        (
            (r"\binspect\.getargspec\(", "inspect.getfullargspec("),
            (r"\binspect\.ArgSpec\(", "_ArgSpec("),
        ),
        f"from {_HELPERS} import ArgSpec as _ArgSpec",
    ),
    Mend(
        "texts in files",
        "h5py 3 gives attributes as str, which has no decode, and lists of them as arrays",
        ("keras.engine.saving", "keras.utils.io_utils"),
        (
            (r"""(\b[\w.]+(?:\[[\w'"]+\])?)\.decode\(['"]utf-?8['"]\)""", r"_text(\1)"),
            (r"^(\s*if) (weight_names):$", r"\1 len(\2):"),
        ),
        f"from {_HELPERS} import text as _text",
    ),
    Mend(
        "texts of attributes",
        "h5py 3 writes lists of bytes as texts that h5py 2 reads as no bytes",
        ("keras.engine.saving", "keras.utils.io_utils"),
        ((r"(\.attrs\[\w+\]) = (val|data)$", r"\1 = _attribute(\2)"),),
        f"from {_HELPERS} import attribute as _attribute",
    ),
    Mend(
        "YAML",
        "PyYAML 6 needs a loader; the full one makes tuples, which configurations have",
        ("keras.engine.saving",),
        ((r"\byaml\.load\((\w+)\)", r"yaml.load(\1, Loader=yaml.FullLoader)"),),
    ),
    Mend(
        "h5py missing",
        "the message does not say what to install",
        ("keras.engine.saving", "keras.engine.network", "keras.utils.io_utils"),
        ((r"(requires h5py)\.'", r"\1: type pip install h5py'"),),
    ),
    Mend(
        "the backend",
        "the file keras.json of another Keras can name another one; tfnb runs TensorFlow's",
        ("keras.backend", "keras.backend.load_backend"),
        (
            (r"^(\s*)_BACKEND = _backend$", r"\1_BACKEND = 'tensorflow'"),
        ),
    ),
    Mend(
        "names of the backend",
        "Keras 2.3 has get_session, set_session and tf in an inner module only",
        ("keras.backend",),
        (
            (r"^from \.load_backend import epsilon$",
             f"from {_HELPERS} import name_of_backend as __getattr__;"
             " from .load_backend import epsilon"),
        ),
    ),
    Mend(
        "layers of tf.keras",
        "Keras has the base of the layers around a layer in an inner module only",
        ("keras.layers",),
        (
            (r"^from \.wrappers import Bidirectional$",
             "from .wrappers import Bidirectional, Wrapper"),
        ),
    ),
    Mend(
        "the backend of tf.keras",
        "Keras 2.3 builds on the one inside of TensorFlow",
        ("keras.backend.tensorflow_backend",),
        (
            (r"^from tensorflow\.python\.keras import backend as",
             "from tfnb.as_tensorflow.keras import backend as"),
            (r"^from tensorflow\.python\.keras\.utils import tf_utils$",
             "from tfnb.as_tensorflow.keras import reachable as tf_utils"),
        ),
    ),
)  # fmt: skip


@cache
def mends_of(module: str) -> tuple[Mend, ...]:
    """Return the changes of a module."""
    return tuple(mend for mend in MENDS if module in mend.modules)
