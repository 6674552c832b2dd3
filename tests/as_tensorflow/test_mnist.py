"""The reader of MNIST's files."""

from __future__ import annotations

import gzip
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_tensorflow")


def _input_data() -> Any:
    return importlib.import_module("tensorflow.examples.tutorials.mnist.input_data")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with twelve training and four test images of two by three pixels."""
    for kind, count in (("train", 12), ("t10k", 4)):
        images = np.arange(count * 6, dtype=np.uint8).tobytes()
        head = np.array([2051, count, 2, 3], ">u4").tobytes()
        (tmp_path / f"{kind}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + images))
        labels = (np.arange(count) % 10).astype(np.uint8).tobytes()
        head = np.array([2049, count], ">u4").tobytes()
        (tmp_path / f"{kind}-labels-idx1-ubyte").write_bytes(head + labels)
    return tmp_path


def test_images_and_labels_are_read(folder: Path) -> None:
    """Rows of pixels from 0 to 1, labels as rows with a one, part of the images for validation."""
    found = _input_data().read_data_sets(str(folder), one_hot=True, validation_size=2)

    assert found.train.images.shape == (10, 6)
    assert found.validation.num_examples == 2
    assert found.test.images[1, 0] == pytest.approx(6 / 255)
    assert found.test.labels[3].tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]


def test_batches_go_through_all_examples(folder: Path) -> None:
    """A batch over the end of an epoch goes on with the next."""
    train = _input_data().read_data_sets(str(folder), validation_size=0, seed=1).train
    labels = np.concatenate([train.next_batch(5)[1] for _ in range(2)])
    last, _ = train.next_batch(5)

    assert len(set(labels.tolist())) >= 8
    assert last.shape == (5, 6)
    assert train.epochs_completed == 1


def test_a_missing_file_says_which_four(tmp_path: Path) -> None:
    """Nothing is downloaded."""
    with pytest.raises(FileNotFoundError, match="put the four files"):
        _input_data().read_data_sets(str(tmp_path))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: b"\0\0\0\1" + data[4:], "magic number"),
        (lambda data: data[:-1], "ends early"),
        (lambda data: data[:4] + b"\xff\xff\xff\xff" + data[8:], "says that it has"),
    ],
)
def test_a_damaged_file_is_refused(folder: Path, damage: Any, says: str) -> None:
    """Before memory is taken."""
    path = folder / "train-labels-idx1-ubyte"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=says):
        _input_data().read_data_sets(str(folder), validation_size=0)
