"""``Model.map``: a model over a Dask collection, or over files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tfnb.dask_runtime.blocks import run_partition
from tfnb.dask_runtime.clients import current_client, get_client
from tfnb.dask_runtime.dask_import import import_dask
from tfnb.dask_runtime.map_arrays import map_arrays
from tfnb.dask_runtime.map_frame import map_frame
from tfnb.dask_runtime.read_files import collection_of_files
from tfnb.dask_runtime.sent_models import send_model

if TYPE_CHECKING:
    from tfnb.client.model import Model

EXPORTS = {"dask": ["map_model"]}


def map_model(
    model: Model,
    collection: Any,
    *,
    client: Any = None,
    batch_size: int | None = None,
    chunk_rows: int | None = None,
    columns: Mapping[str, Any] | None = None,
    output_shapes: Mapping[str, Sequence[int | None]] | None = None,
) -> Any:
    """Run a model over a collection, row by row of its first axis; ``Model.map`` calls this.

    Nothing runs before the result is computed, with Dask's own means: ``result.compute(retries=2)``
    runs a block again that failed, ``distributed.progress(result.persist())`` shows a bar. The
    model is sent to the workers once; each opens it once, with the permissions and limits that
    ``model.graph`` has when this is called.

    Args:
      model: a ``tfnb.Model``.
      collection: a Dask Array, with rows along its first axis; a dict of Dask Arrays by input; a
        Bag, whose items are values of the input, or dicts or tuples of several inputs; a DataFrame;
        or files: their paths, or a pattern. ``.npy`` files give an Array, TFRecord files a Bag of
        records. Workers read the files, under the same paths.
      client: a ``distributed.Client``. If None, Dask's current one; with a scheduler of this
        process (``dask.config.set(scheduler="threads")``), none; else one with workers on this
        machine, which is started.
      batch_size: the most rows of one step; None: a block, or 128 items of a Bag.
      chunk_rows: rows of a block, if an Array is to be divided otherwise than it is.
      columns: for a DataFrame: input -> column or list of columns. If None, inputs have the names
        of columns, or the only input takes all.
      output_shapes: output -> shape of its rows, where the graph does not tell.

    Returns:
      A collection of the same kind: for several outputs a dict of Arrays, a Bag of dicts, a
      DataFrame with columns for each. Types and shapes are the graph's.

    Raises:
      TypeError: the collection is none of these, or does not fit the inputs.
      ValueError: the shapes do not fit, or the graph does not tell the shape of an output.
      FailedPreconditionError: the model's files were changed after it was read.
      UnimplementedError: Dask is not installed.
    """
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"`batch_size` must be positive, not {batch_size}.")
    if chunk_rows is not None and chunk_rows < 1:
        raise ValueError(f"`chunk_rows` must be positive, not {chunk_rows}.")
    dask = import_dask("dask")
    if _are_files(collection):
        collection = collection_of_files(collection)
    kind = _kind_of(collection)
    # Before anything is sent: what does not fit is refused here.
    if client is None and current_client() is None and dask.config.get("scheduler", None):
        used = None
    else:
        used = get_client(client)
    sent = send_model(model, used)
    if kind == "bag":
        return collection.map_partitions(partial(run_partition, sent, batch_size))
    if kind == "frame":
        return map_frame(model, sent, collection, columns, batch_size, output_shapes or {})
    arrays = collection if isinstance(collection, Mapping) else {}
    if not arrays:
        arrays = dict(zip(model.inputs, [collection]))
    return map_arrays(model, sent, arrays, batch_size, chunk_rows, output_shapes or {})


def _are_files(collection: Any) -> bool:
    if isinstance(collection, (str, os.PathLike)):
        return True
    return isinstance(collection, (list, tuple)) and all(
        isinstance(one, (str, os.PathLike)) for one in collection
    )


def _kind_of(collection: Any) -> str:
    """Return "array", "bag" or "frame".

    Raises:
      TypeError: it is no collection.
    """
    array = import_dask("dask.array")
    if isinstance(collection, Mapping) and collection:
        if all(isinstance(one, array.Array) for one in collection.values()):
            return "array"
    elif isinstance(collection, array.Array):
        return "array"
    for module, name, kind in (
        ("dask.bag", "Bag", "bag"),
        ("dask.dataframe", "DataFrame", "frame"),
    ):
        # A collection of this kind exists only where its module is imported.
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(collection, getattr(loaded, name)):
            return kind
    raise TypeError(
        "`collection` must be a Dask Array, a dict of them, a Bag, a DataFrame, or paths of files, "
        f"not {type(collection).__name__}. An array in memory: dask.array.from_array(x)."
    )
