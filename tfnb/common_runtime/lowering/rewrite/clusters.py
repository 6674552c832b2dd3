"""Elementwise nodes of large arrays, run together tile by tile.

A *cluster* is a node and the nodes before it whose results no other node uses, all of one type and
all able to write a tile of their result (``op.tile``).  Over large arrays it runs as one unit:
intermediate results stay in cache, and the result may overwrite an input that is last used here.
The choice is made at run time: the arrays must be large, of one shape, and contiguous, or of NCHW
with the channels last in memory; otherwise the nodes run one after the other.  Scalars are allowed
in place of arrays, and so are vectors with one number per channel (the last dimension).

On a GPU a cluster holds elementwise nodes of any types, and runs as one kernel (``fused.py``).

``find_clusters`` changes a program, ``plan_tile`` plans where each node writes, and the emitted
function calls a ``TiledCluster``.  An input is overwritten only if its reference count shows that
no other register, variable, constant, feed, stack or view holds it.
"""

from __future__ import annotations

from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.immutable_executor_state import CONTEXT, LARGE_BYTES, PURE_ONE
from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Block,
    Cluster,
    Compute,
    Copy,
    Deferred,
    PartialSum,
    Program,
    Read,
    insides_of,
    reads_of,
)
from tfnb.core.channel_order import (
    channels_to_last,
    channels_to_second,
    lies_channels_last,
    positions_of_row,
    repeated,
)
from tfnb.core.kernel_expressions import tile_of
from tfnb.core.op_kernel import kernel_attr
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.process.records import record
from tfnb.core.process.work_sharder import shard

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem

TILE_BYTES = 1 << 18
"""A few tiles of this size fit into the second cache."""
_FEWEST = 2  # minimum number of nodes; on a GPU, of functions


# -- in the program --------------------------------------------------------------------------------


def find_clusters(program: Program) -> None:
    """Replace the nodes of clusters in a program by the clusters."""
    uses: dict[str, int] = dict.fromkeys(program.predicates, 1)
    count_uses(program.root, uses)
    _ClusterFinder(program, uses).find(program.root)


def count_uses(block: Block, uses: dict[str, int]) -> None:
    """Count how often registers are read in a block."""
    for instruction in block:
        for name in reads_of(instruction):
            uses[name] = uses.get(name, 0) + 1
        for inside in insides_of(instruction):
            count_uses(inside, uses)


class _ClusterFinder:
    """Finds the clusters of one program."""

    def __init__(self, program: Program, uses: Mapping[str, int]) -> None:
        self._constants = program.constants
        self._item_of = program.item_of
        self._uses = uses
        self._number = 0
        # Clusters that may still grow, by the register of their result.
        self._open: dict[str, list[Compute]] = {}
        self._made: Block = []

    def find(self, block: Block) -> None:
        """Find the clusters of a block and of the blocks inside it, which are changed."""
        for instruction in block:
            for inside in insides_of(instruction):
                _ClusterFinder.find(self, inside)
        self._open, self._made = {}, []
        for instruction in block:
            if isinstance(instruction, Compute):
                self._add(instruction)
                continue
            passes = isinstance(instruction, Copy | Assign | Read | PartialSum | Deferred)
            self._close(reads_of(instruction) if passes else list(self._open))
            self._made.append(instruction)
        self._close(list(self._open))
        block[:] = self._made

    def _add(self, compute: Compute) -> None:
        item = compute.item
        is_plain = item.action == PURE_ONE
        kind = kind_of(item) if is_plain else None
        if kind is None:
            # A node that may write to a variable comes after all open clusters, which may read it.
            self._close(compute.args if only_gives(item) else list(self._open))
            self._made.append(compute)
            return
        members: list[Compute] = []
        for name in dict.fromkeys(compute.args):
            before = self._open.get(name)
            if before is None:
                continue
            if name in vector_args(compute):
                self._close([name])
                continue
            is_only_here = self._uses[name] == compute.args.count(name)
            if is_only_here and kind_of(before[-1].item) is kind:
                del self._open[name]
                members += before
            else:
                self._close([name])
        self._open[compute.results[0]] = [*members, compute]

    def _close(self, names: Iterable[str]) -> None:
        """Add the clusters that compute these registers to the program."""
        for name in names:
            members = self._open.pop(name, None)
            if members is None:
                continue
            inner = {member.results[0] for member in members}
            inputs = dict.fromkeys(
                arg for member in members for arg in member.args if arg not in inner
            )
            on_gpu = is_on_gpu(members[-1].item)
            size = len(members)
            if on_gpu:
                # One node may run many kernels.
                size = sum(functions_of(member.item) for member in members)
                args = [arg for arg in inputs if number_in(self._item_of.get(arg)) is None]
            else:
                args = [arg for arg in inputs if np.ndim(self._constants.get(arg, _NO_CONSTANT))]
            is_small = size < _FEWEST or not args
            constants = [np.ndim(self._constants.get(arg, 0)) for arg in args]
            if is_small or (not on_gpu and max(constants) > 1):
                self._made += members
            else:
                self._number += 1
                self._made.append(Cluster(self._number, args, name, list(members), on_gpu))


_NO_CONSTANT = np.empty(1)
_VARIABLES = ops_with(Trait.VARIABLE)


def only_gives(item: NodeItem) -> bool:
    """Return whether a node writes to no variable, so that readers of one may run after it."""
    return item.action == PURE_ONE or item.op in _VARIABLES or item.op == "ReadVariableOp"


def vector_args(compute: Compute) -> list[str]:
    """Return the inputs of a CPU node that must have one number per entry of the last axis."""
    kernel = compute.item.kernel
    tile = None if kernel is None else tile_of(kernel)
    if kernel is None or tile is None or not tile.vector:
        return []
    inputs = kernel.definition.op_def.inputs
    return [arg for one, arg in zip(inputs, compute.args, strict=True) if one.name == tile.vector]


def kind_of(item: NodeItem) -> object:
    """Return the key shared by a cluster's members; None for a node outside clusters."""
    kernel = item.kernel
    if kernel is None:
        return None
    if is_on_gpu(item):
        return kernel.device if functions_of(item) else None
    return None if tile_of(kernel) is None else item.output_types[0]


def functions_of(item: NodeItem) -> int:
    """Return the number of elementwise functions in a GPU node; 0: it is not elementwise."""
    from tfnb.common_runtime.lowering.support.fused import (
        num_functions,  # only if there is a GPU
    )

    types = [one.base_dtype.numpy_dtype for one in item.input_types]
    return 0 if item.kernel is None else num_functions(item.kernel, types)


def is_on_gpu(item: NodeItem) -> bool:
    """Return whether a node computes on a GPU."""
    return item.kernel is not None and item.kernel.device.xp is not np


def only_gpu(items: Iterable[NodeItem]) -> Any:
    """Return the one GPU that nodes compute on; None for none or several.

    Also None if a node may change the current device: a user's function, or one of the graph.
    """
    gpus: dict[int, Any] = {}
    for item in items:
        kernel = item.kernel
        if kernel is None:
            continue
        if is_on_gpu(item):
            gpus[id(kernel.device)] = kernel.device
        elif item.action == CONTEXT and not item.op.endswith("Recv"):
            return None
        if kernel.calls_functions or kernel.definition.effects:
            return None
    return next(iter(gpus.values())) if len(gpus) == 1 else None


def is_constant(item: NodeItem) -> bool:
    """Return whether a node's value is a constant of the graph."""
    return item.op in ("Const", "HostConst") and item.num_inputs == 0


def number_in(source: tuple[NodeItem, int] | None) -> Any:
    """Return the NumPy scalar that a GPU register always holds; None if it holds an array."""
    if source is None or not is_constant(source[0]) or source[0].kernel is None:
        return None
    value = kernel_attr(source[0].kernel.attrs["value"])
    return value[()] if value.ndim == 0 and value.dtype != object else None


# -- where nodes write -----------------------------------------------------------------------------


@record(slots=True)
class TilePlan:
    """Where each node of a cluster writes its tile.

    Attributes:
      targets: for each node ``out`` or ``spare1``, ...
      places: for each register between the nodes, the place of its value.
      num_spares: number of spare tiles.
    """

    targets: list[str]
    places: list[dict[str, str]]
    num_spares: int


def plan_tile(cluster: Cluster, over: str = "") -> TilePlan:
    """Plan where each node writes.

    Args:
      cluster: its nodes in their order.
      over: an input that the result overwrites; "" if the result has an array of its own.
    """
    members = [member for member in cluster.plain if isinstance(member, Compute)]
    last_use = {arg: number for number, member in enumerate(members) for arg in member.args}
    place: dict[str, str] = {}
    free: list[str] = [] if over else ["out"]
    plan = TilePlan([], [], 0)
    for number, member in enumerate(members):
        plan.places.append(dict(place))
        ending = [arg for arg in dict.fromkeys(member.args) if last_use[arg] == number]
        if over in ending:
            free.insert(0, "out")
        own = [place[arg] for arg in ending if arg in place]
        if number == len(members) - 1:
            target = "out"
        elif own:
            target = own[0]
        elif free:
            target = free.pop(0)
        else:
            plan.num_spares += 1
            target = f"spare{plan.num_spares}"
        free += [one for one in own if one != target]
        for arg in ending:
            place.pop(arg, None)
        place[member.results[0]] = target
        plan.targets.append(target)
    return plan


# -- running a cluster in a step -------------------------------------------------------------------

type_of_tile = tuple["Callable[..., None]", int]


class TiledCluster:
    """A cluster as the emitted function calls it: returns the result, or None to run its nodes."""

    __slots__ = ("_dtype", "_least", "_members", "_over", "_size", "_tile", "_vectors", "_works")

    def __init__(
        self,
        dtype: np.dtype[Any],
        members: Sequence[Collection[int | str]],
        tile: type_of_tile,
        over: Mapping[int, type_of_tile],
        vectors: Collection[int] = (),
    ) -> None:
        """Initialize the cluster.

        Args:
          dtype: the dtype of all arrays.
          members: for each node its inputs: numbers of arguments, names of other results.
          tile: a function of tiles of the arguments, of the result and of spare tiles, and the
            number of these spare tiles.
          over: such a pair for results that overwrite an argument, by the argument's number.
          vectors: the numbers of arguments that must be vectors of channels.
        """
        self._vectors = vectors
        self._dtype = dtype
        self._members = members
        self._tile = tile
        self._over = over
        self._size = TILE_BYTES // dtype.itemsize
        self._least = LARGE_BYTES // dtype.itemsize
        self._works: dict[tuple[int, ...], bool] = {}

    def __call__(self, *args: Any) -> Any:
        """Return the result in an array, or None."""
        for arg in args:
            if arg.__class__ is np.ndarray and arg.size >= self._least:
                break
        else:
            return None
        shape, is_turned = arg.shape, lies_channels_last(arg)
        del arg
        if is_turned:
            found = _only_here(args, self._over, _ALONE, shape)
            return self._of_channels_last(args, len(shape), found)
        if not self._fits(args, shape):
            return None
        return self._run(args, shape, _only_here(args, self._over, _ALONE, shape))

    def _of_channels_last(self, args: Sequence[Any], rank: int, found: int) -> Any:
        """Return the result for images of NCHW whose channels come last in memory, or None."""
        ranks = [getattr(arg, "ndim", 0) for arg in args]
        if any(ranks.count(one) for one in range(1, rank)):
            return None  # an array of lower rank has numbers per column, not per channel
        turned = [channels_to_last(arg) if one else arg for arg, one in zip(args, ranks)]
        shape = next(one.shape for one in turned if getattr(one, "size", 0) >= self._least)
        out = self._run(turned, shape, found) if self._fits(turned, shape) else None
        return None if out is None else channels_to_second(out)

    def over_input(self, args: list[Any]) -> Any:
        """Return the result in the memory of an input that only the list holds, or None."""
        twice = len(args) == 2 and args[0] is args[1]
        found = _only_here(args, self._over, _ALONE_IN_LIST + twice)
        if found in self._vectors:
            return None
        if found < 0 or not self._fits(args, args[found].shape):
            return None
        return self._run(args, args[found].shape, found)

    def _run(self, args: Sequence[Any], shape: tuple[int, ...], found: int) -> Any:
        (tile, num_spares), out = self._tile, None
        if found >= 0:
            (tile, num_spares), out = self._over[found], args[found]
        if out is None:
            try:
                out = np.empty(shape, self._dtype)
            except MemoryError:
                return None  # the nodes raise the error
        size = self._size
        row: tuple[int, ...] = ()
        wholes = [arg if arg.shape == shape else None for arg in args]
        others = list(args)
        if any(arg.shape and whole is None for arg, whole in zip(args, wholes, strict=True)):
            # Combine several positions into one long row, and repeat the vectors to its length.
            channels = shape[-1]
            repeats = positions_of_row(out.size // channels, channels)
            row = (repeats * channels,)
            size = max(1, size // row[0])
            others = [
                repeated(arg.reshape(-1), repeats) if arg.shape and whole is None else arg
                for arg, whole in zip(args, wholes, strict=True)
            ]
        target = out.reshape(-1, *row)
        flat = [None if whole is None else whole.reshape(-1, *row) for whole in wholes]

        def work(first: int, last: int) -> None:
            spares = [np.empty((size, *row), self._dtype) for _ in range(num_spares)]
            for start in range(first * size, min(last * size, len(target)), size):
                here = slice(start, start + size)
                result = target[here]
                tile(
                    *[
                        other if whole is None else whole[here]
                        for whole, other in zip(flat, others, strict=True)
                    ],
                    result,
                    *[spare[: len(result)] for spare in spares],
                )

        shard(-(-len(target) // size), 1, work)
        return out

    def _fits(self, args: Sequence[Any], shape: tuple[int, ...]) -> bool:
        lesser = []
        for number, arg in enumerate(args):
            if getattr(arg, "dtype", None) != self._dtype:
                return False
            is_vector = number in self._vectors
            if is_vector and (arg.ndim != 1 or len(shape) < 2):
                return False
            if not arg.shape:
                lesser.append(number)
            elif not arg.flags.c_contiguous:
                return False
            elif arg.shape != shape or is_vector:
                if not arg.size == arg.shape[-1] == shape[-1] or arg.ndim > len(shape):
                    return False
                lesser.append(number)
        if not lesser:
            return True
        key = tuple(lesser)
        works = self._works.get(key)
        if works is None:
            works = self._works[key] = self._has_arrays_everywhere(key)
        return works

    def _has_arrays_everywhere(self, lesser: Collection[int]) -> bool:
        """Return whether every node reads an array; others combine scalars or vectors only."""
        return all(
            any(isinstance(source, str) or source not in lesser for source in sources)
            for sources in self._members
        )


def _only_here(
    args: Sequence[Any], numbers: Iterable[int], alone: int, shape: tuple[int, ...] | None = None
) -> int:
    """Return the first argument that is an array without holders besides the caller, or -1.

    Args:
      args: the arguments.
      numbers: the numbers of those that may be overwritten.
      alone: the result of getrefcount here for an array without other holders.
      shape: the required shape of the array; None: any except that of a scalar.
    """
    for number in numbers:
        if getrefcount(args[number]) <= alone and args[number].shape:
            if shape is not None and args[number].shape != shape:
                continue
            flags = args[number].flags
            if flags.owndata and flags.writeable and args[number].base is None:
                return number
    return -1


class _Probe:
    """Measures reference counts by being called like a cluster."""

    def __call__(self, *args: Any) -> int:
        return _count(args, (0,), 0)

    def over_input(self, args: list[Any]) -> int:
        return _count(args, (0,), 0)


def _count(args: Sequence[Any], numbers: Iterable[int], alone: int) -> int:
    for number in numbers:
        return getrefcount(args[number])
    return alone


def _count_alone() -> int:
    probe, value = _Probe(), np.empty(1)
    count = probe(value)
    del value
    return count


_ALONE = _count_alone()
_ALONE_IN_LIST = _Probe().over_input([np.empty(1)])


# -- one node of a partition that is not lowered yet -----------------------------------------------

_single: dict[tuple[str, np.dtype[Any]], TiledCluster] = {}


def compute_over_input(item: NodeItem, args: list[Any]) -> Any:
    """Write the result over a large input without other holders; None: compute it normally.

    Args:
      item: the node.
      args: its inputs; an input may be overwritten only if this list is its only holder.
    """
    kernel = item.kernel
    expression = None if kernel is None else tile_of(kernel)
    if kernel is None or expression is None:
        return None
    key = (item.op, item.output_types[0].numpy_dtype)
    if key not in _single:
        names = [one.name for one in kernel.definition.op_def.inputs]
        text = expression.write(
            {name: name for name in [*names, "out"]}, "", {name: name for name in expression.names}
        )
        # The text is defined by the op; no part of it comes from a graph.
        function = eval(f"lambda {', '.join(names)}, out: {text}", dict(expression.names))
        numbers = range(len(names))
        over = dict.fromkeys(numbers, (function, 0))
        vectors = [number for number in numbers if names[number] == expression.vector]
        _single[key] = TiledCluster(key[1], [list(numbers)], (function, 0), over, vectors)
    return _single[key].over_input(args)
