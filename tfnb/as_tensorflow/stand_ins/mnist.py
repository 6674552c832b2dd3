"""``tensorflow.examples.tutorials.mnist``: reads the four files of MNIST from a local folder.

Nothing is downloaded.
"""

from __future__ import annotations

import gzip
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np

from tfnb.as_tensorflow.public_api import tf

_FILES = (
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte",
)  # fmt: skip
_IMAGES, _LABELS = 2051, 2049
_MOST_ITEMS = 10_000_000

Datasets = namedtuple("Datasets", ["train", "validation", "test"])  # noqa: PYI024
input_data = sys.modules[__name__]


class DataSet:
    """Images and labels, and batches of them.

    Args:
      images: uint8 [n, rows, columns, 1].
      labels: [n], or [n, classes].
      dtype: ``tf.float32`` scales pixels to [0, 1], ``tf.uint8`` leaves them.
      reshape: whether images become rows [n, rows * columns].
      seed: of the shuffling.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = tf.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        if reshape:
            images = images.reshape(len(images), int(np.prod(images.shape[1:])))
        if tf.as_dtype(dtype) == tf.float32:
            images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images, self._labels = images, labels
        self._random = np.random.RandomState(seed)
        self._epochs_completed = 0
        self._position = 0

    @property
    def images(self) -> Any:
        """All images."""
        return self._images

    @property
    def labels(self) -> Any:
        """All labels."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """Their number."""
        return len(self._images)

    @property
    def epochs_completed(self) -> int:
        """How often all examples were given out."""
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """Return the next images and labels; a new epoch begins where one ends."""
        if self._position == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        start, end = self._position, self._position + batch_size
        if end <= self.num_examples:
            self._position = end
            return self._images[start:end], self._labels[start:end]
        images, labels = self._images[start:], self._labels[start:]
        self._epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._position = batch_size - len(images)
        return (
            np.concatenate([images, self._images[: self._position]]),
            np.concatenate([labels, self._labels[: self._position]]),
        )

    def _shuffle(self) -> None:
        order = self._random.permutation(self.num_examples)
        self._images, self._labels = self._images[order], self._labels[order]


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = tf.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = "",
) -> Datasets:
    """Return training, validation and test data of a folder that has the four files of MNIST.

    Args:
      train_dir: the folder; files may end with ".gz".
      fake_data: refused.
      one_hot: whether labels are rows with a one.
      dtype: of the pixels.
      reshape: whether images are rows.
      validation_size: how many of the training images are for validation.
      seed: of the shuffling.
      source_url: not used; nothing is downloaded.

    Raises:
      FileNotFoundError: a file is missing; the message names all four.
      ValueError: a file is not of that kind, or the validation size does not fit.
    """
    if fake_data:
        raise ValueError("fake_data is not there: make arrays with NumPy")
    folder = Path(train_dir)
    read = [_read(_path(folder, name), _IMAGES if "images" in name else _LABELS) for name in _FILES]
    images, labels, test_images, test_labels = read
    if one_hot:
        labels, test_labels = np.eye(10)[labels], np.eye(10)[test_labels]
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    options = {"dtype": dtype, "reshape": reshape, "seed": seed}
    cut = validation_size
    return Datasets(
        DataSet(images[cut:], labels[cut:], **options),
        DataSet(images[:cut], labels[:cut], **options),
        DataSet(test_images, test_labels, **options),
    )


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """Return the data of a folder."""
    return read_data_sets(train_dir)


def _path(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.gz", folder / name):
        if path.exists():
            return path
    raise FileNotFoundError(
        f"'{folder}' has no {name}.gz. Nothing is downloaded here: put the four files "
        f"{', '.join(f'{one}.gz' for one in _FILES)} there."
    )


def _read(path: Path, kind: int) -> Any:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        head = np.frombuffer(file.read(8), ">u4")
        if len(head) < 2 or head[0] != kind:
            raise ValueError(f"Invalid magic number {head[:1]} in MNIST file: {path}")
        count = int(head[1])
        shape = [count]
        if kind == _IMAGES:
            shape += [int(one) for one in np.frombuffer(file.read(8), ">u4")] + [1]
        size = int(np.prod(shape, dtype=np.float64))
        if count > _MOST_ITEMS or size > _MOST_ITEMS * 784:
            raise ValueError(f"'{path}' says that it has {count} items")
        data = file.read(size)
    if len(data) != size:
        raise ValueError(f"'{path}' ends early: {len(data)} of {size} bytes")
    return np.frombuffer(data, np.uint8).reshape(shape)
