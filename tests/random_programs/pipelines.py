"""Random programs of datasets without functions, and of their iterators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tests.random_programs.programs import Program, array, programs

if TYPE_CHECKING:
    from tests.random_calls.draws import Draw


def _dataset(d: Draw, p: Program, depth: int) -> tuple[Any, list[Any], list[Any]]:
    """Return a dataset, its types and known shapes."""
    if depth == 0 or d.chance(0.15):
        kind = d.one("range range slices tensors")
        if kind == "range":
            bounds = (d.number(-2, 2), d.number(0, 8), d.one([1, 2, -1, 3]))
            made = p.raw(
                "RangeDataset", start=np.int64(bounds[0]), stop=np.int64(bounds[1]),
                step=np.int64(bounds[2]), output_types=[tf.int64], output_shapes=[[]],
            )  # fmt: skip
            return made, [tf.int64], [[]]
        word, shape = (
            d.one("float32 string int32"),
            tuple(d.number(1, 2) for _ in range(d.number(0, 1))),
        )
        rows = d.number(0, 5)
        if kind == "slices":
            made = p.raw(
                "TensorSliceDataset",
                components=[array(d, word, (rows, *shape))],
                output_shapes=[shape],
            )
        else:
            made = p.raw("TensorDataset", components=[array(d, word, shape)], output_shapes=[shape])
        return made, [tf.as_dtype(word)], [shape]
    source, types, shapes = _dataset(d, p, depth - 1)
    known = {"output_types": types, "output_shapes": shapes}
    action = d.one("take skip repeat batch shuffle shard concatenate zip cache prefetch window")
    if action == "take":
        return (
            p.raw("TakeDataset", input_dataset=source, count=np.int64(d.number(-1, 5)), **known),
            types,
            shapes,
        )
    if action == "skip":
        return (
            p.raw("SkipDataset", input_dataset=source, count=np.int64(d.number(-1, 4)), **known),
            types,
            shapes,
        )
    if action == "repeat":
        return (
            p.raw("RepeatDataset", input_dataset=source, count=np.int64(d.number(0, 2)), **known),
            types,
            shapes,
        )
    if action == "batch":
        rest = d.chance(0.5)
        wide = [None if shape is None else [None, *shape] for shape in shapes]
        made = p.raw(
            "BatchDatasetV2", input_dataset=source,
            batch_size=np.int64(d.number(0 if d.chance(0.05) else 1, 3)),
            drop_remainder=rest, output_types=types, output_shapes=wide,
        )  # fmt: skip
        return made, types, wide
    if action == "shuffle":
        made = p.raw(
            "ShuffleDataset", input_dataset=source, buffer_size=np.int64(d.number(1, 4)),
            seed=np.int64(7), seed2=np.int64(d.number(1, 9)),
            reshuffle_each_iteration=d.chance(0.5), **known,
        )  # fmt: skip
        return made, types, shapes
    if action == "shard":
        count = d.number(1, 3)
        made = p.raw(
            "ShardDataset", input_dataset=source, num_shards=np.int64(count),
            index=np.int64(d.number(0, count - 1)), **known,
        )  # fmt: skip
        return made, types, shapes
    if action == "concatenate":
        return (
            p.raw("ConcatenateDataset", input_dataset=source, another_dataset=source, **known),
            types,
            shapes,
        )
    if action == "zip":
        other, more, wide = _dataset(d, p, 0)
        both = {"output_types": [*types, *more], "output_shapes": [*shapes, *wide]}
        made = p.raw("ZipDataset", input_datasets=[source, other], **both)
        return made, both["output_types"], both["output_shapes"]
    if action == "cache":
        return p.raw("CacheDataset", input_dataset=source, filename="", **known), types, shapes
    if action == "prefetch":
        return (
            p.raw(
                "PrefetchDataset",
                input_dataset=source,
                buffer_size=np.int64(d.number(0, 2)),
                **known,
            ),
            types,
            shapes,
        )
    return source, types, shapes


@programs
def dataset(d: Draw, p: Program) -> None:
    """Pipelines without functions: all elements, the end, and once more from the beginning."""
    made, types, shapes = _dataset(d, p, d.number(1, 4))
    if made is None:
        return
    known = {"output_types": types, "output_shapes": shapes}
    iterator = p.raw("IteratorV2", shared_name="it", container="", **known)
    start = p.raw("MakeIterator", dataset=made, iterator=iterator)
    following = p.raw("IteratorGetNext", iterator=iterator, **known)
    p.run(p.raw("DatasetCardinality", input_dataset=made))
    for _ in range(2):
        p.run(start)
        for _ in range(d.number(2, 10)):
            p.run(following)
