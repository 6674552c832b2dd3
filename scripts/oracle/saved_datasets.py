"""Save datasets with TensorFlow for ``tests/library/data/test_saved_datasets.py``, or load tfnb's.

``python scripts/oracle/saved_datasets.py tests/golden/saved_datasets`` writes a zip file for each
dataset. With ``FOLDER --load COMPRESSION`` it prints the elements of a dataset that tfnb saved. The
Python must have TensorFlow.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf

if TYPE_CHECKING:
    from collections.abc import Callable

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.FATAL)


def sources() -> dict[str, tuple[Callable[[], Any], dict[str, Any]]]:
    """Return the datasets to save, with their options."""
    pairs = lambda: tf.data.Dataset.range(5).map(lambda x: (x, tf.as_string(x)))  # noqa: E731
    names = lambda: tf.data.Dataset.from_tensor_slices(  # noqa: E731
        {
            "b": np.arange(6, dtype=np.float32).reshape(3, 2),
            "a": (np.array([True, False, True]), np.array([1.5, -2, 3], np.float16)),
        }
    )
    ragged = lambda: tf.data.Dataset.range(4).map(  # noqa: E731
        lambda n: tf.fill([n], tf.complex(tf.cast(n, tf.float32), 1.0))
    )
    long = lambda: tf.data.Dataset.from_tensors(tf.constant("abcdefgh" * 5000)).repeat(3)  # noqa: E731
    return {
        "pairs": (pairs, {}),
        "pairs_gzip": (pairs, {"compression": "GZIP"}),
        "pairs_zlib": (pairs, {"compression": "ZLIB"}),
        "pairs_snappy": (pairs, {"compression": "SNAPPY"}),
        "pairs_in_shards": (pairs, {"shard_func": lambda x, _: x % 2}),
        "names": (names, {}),
        "lengths": (ragged, {}),
        "long_snappy": (long, {"compression": "SNAPPY"}),
        "nothing": (lambda: tf.data.Dataset.range(0), {}),
    }


def save(folder: Path) -> None:
    """Write a zip file for each dataset."""
    for name, (make, how) in sources().items():
        with tf.Graph().as_default(), tf.Session() as session, tempfile.TemporaryDirectory() as at:
            session.run(make().save(at, **how))
            with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as file:
                for path in sorted(Path(at).rglob("*")):
                    if path.is_file():
                        info = zipfile.ZipInfo(str(path.relative_to(at)))
                        file.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)


def load(folder: str, compression: str) -> None:
    """Print the elements of a saved dataset."""
    following = tf.data.make_one_shot_iterator(
        tf.data.Dataset.load(folder, compression=compression)
    ).get_next()
    with tf.Session() as session:
        try:
            while True:
                print(session.run(following))
        except tf.errors.OutOfRangeError:
            pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--load", metavar="COMPRESSION")
    options = parser.parse_args()
    if options.load is None:
        save(options.folder)
    else:
        load(str(options.folder), options.load)
