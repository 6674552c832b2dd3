"""``tf.contrib.learn.datasets.base``: tables in CSV files."""

from __future__ import annotations

import csv
import importlib
import os
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from tfnb.client.public.api import tf


class Dataset(NamedTuple):
    """Rows and their targets."""

    data: Any
    target: Any


class Datasets(NamedTuple):
    """Three data sets."""

    train: Any
    validation: Any
    test: Any


def load_csv_with_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Return the table of a file whose first line has the numbers of rows and of features.

    Args:
      filename: the file.
      target_dtype: of the targets.
      features_dtype: of the features.
      target_column: the column of the targets.

    Raises:
      ValueError: the file has another number of rows or features than its first line says.
    """
    with tf.gfile.Open(filename) as file:
        header, *rows = [row for row in csv.reader(file) if row]
    samples, features = int(header[0]), int(header[1])
    found = _dataset(rows, target_dtype, features_dtype, target_column)
    if found.data.shape != (samples, features):
        raise ValueError(
            f"{filename} says {samples} rows of {features} features, and has {found.data.shape}."
        )
    return found


def load_csv_without_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Return the table of a file; arguments as of ``load_csv_with_header``."""
    with tf.gfile.Open(filename) as file:
        rows = [row for row in csv.reader(file) if row]
    return _dataset(rows, target_dtype, features_dtype, target_column)


def _dataset(
    rows: list[list[str]], target_dtype: Any, features_dtype: Any, target_column: int
) -> Dataset:
    targets = [row.pop(target_column) for row in rows]
    return Dataset(np.array(rows, features_dtype), np.array(targets, target_dtype))


def load_iris(data_path: str | None = None) -> Dataset:
    """Return the measures of irises, from a CSV file or from scikit-learn.

    Args:
      data_path: the file.

    Raises:
      ModuleNotFoundError: there is no file, and scikit-learn is not installed.
    """
    if data_path is not None:
        return load_csv_with_header(data_path, np.int64, np.float64)
    if find_spec("sklearn") is None:
        raise ModuleNotFoundError(
            "load_iris reads the data of scikit-learn: type pip install scikit-learn, or give the "
            "path of a CSV file.",
            name="sklearn",
        )
    found = importlib.import_module("sklearn.datasets").load_iris()
    return Dataset(found.data, found.target)


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Return the path of a file that is there.

    Args:
      filename: its name.
      work_directory: its folder.
      source_url: where it comes from.

    Raises:
      NotFoundError: it is not there; tfnb downloads nothing.
    """
    path = os.path.join(work_directory, filename)
    if not tf.gfile.Exists(path):
        raise tf.errors.NotFoundError(
            None, None, f"{path} does not exist. Download it from {source_url} and put it there."
        )
    return path
