"""Finds kernels that add a bias to their result, normalize and limit it, while they make it.

An op may register how it does so (``OpDefinition.biased``).  Its node, the BiasAdd behind it, a
batch norm with given statistics behind that (``OpDefinition.normalizes``), and a Relu, Relu6 or
LeakyRelu behind that, become a compiled cluster whose function is the registered one; the nodes run
wherever that returns None.  A convolution between SpaceToBatchND and BatchToSpaceND counts as one
dilated node (``dilated_kernels.py``).
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.immutable_executor_state import (
    PURE,
    PURE_ONE,
    WITHOUT_CONTEXT,
)
from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Block,
    Cluster,
    Compute,
    Copy,
    Program,
    Read,
    insides_of,
    reads_of,
    writes_of,
)
from tfnb.common_runtime.lowering.rewrite import dilated_kernels
from tfnb.common_runtime.lowering.rewrite.clusters import is_on_gpu, only_gives
from tfnb.common_runtime.lowering.support.machine_code import num_instructions
from tfnb.common_runtime.lowering.support.traced import is_own_kernel
from tfnb.core.op_registry import Following

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.common_runtime.lowering.recognise.program import type_of_instruction

# The smallest and the largest result, and the factor of what is smaller, or 0.
_LIMITS = {"Relu": (0.0, math.inf, 0.0), "Relu6": (0.0, 6.0, 0.0)}
_NO_LIMITS = -math.inf, math.inf, 0.0
_LEAST_FACTOR = 1e-6
_BIASES = ("BiasAdd", "Add", "AddV2")


def find_biased(program: Program, uses: Mapping[str, int], *, is_plain: bool = False) -> int:
    """Replace nodes in a program by compiled clusters, numbered from 1; return how many.

    Args:
      program: the program; it is changed.
      uses: how often each register is read.
      is_plain: whether there are no compiled routines: nothing follows dilated convolutions then,
        and those of images of one row are not found.
    """
    return _Finder(program, uses, is_plain=is_plain).find(program.root)


def may_be_biased(item: NodeItem) -> bool:
    """Return whether a node may be one whose op registered how it does what follows."""
    kernel = item.kernel
    return kernel is not None and kernel.definition.biased_kernel is not None


def is_biased(cluster: Cluster) -> bool:
    """Return whether a compiled cluster was found here."""
    return _convolution_of(cluster.compiled) is not None


def biased_function(
    members: Sequence[Compute], constants: Mapping[str, Any], *, is_plain: bool
) -> Callable[..., Any]:
    """Return the function of a cluster's nodes: of their inputs but the results among them.

    Args:
      members: the nodes.
      constants: the values of registers that are constants.
      is_plain: whether there are no compiled routines.
    """
    convolution = _convolution_of(members)
    assert convolution is not None
    kernel = convolution.item.kernel
    assert kernel is not None
    function = kernel.definition.biased_kernel
    assert function is not None
    keywords: Mapping[str, Any] = _attributes(kernel)
    first = len(convolution.args)
    limits = _limits_of(members[-1]) or _NO_LIMITS
    norm = next((one for one in members if _norm_of(one) is not None), None)
    has_bias = any(map(_adds, members))
    behind = [one for one in members if _adds(one) or one is norm]
    vectors = [name for one in behind for name in one.args[1:]]
    # The filter is the second argument of all of these ops.
    is_constant = all(name in constants for name in (convolution.args[1], *vectors))
    of_norm: Callable[..., Any] | None = None
    if norm is not None:
        given = _norm_of(norm)
        assert given is not None
        of_norm = partial(given, **_attributes(norm.item.kernel))
    kept: list[Following] = []

    def follow(args: Sequence[Any]) -> Following | None:
        """Return what follows, given the arguments behind those of the convolution."""
        found = None
        if of_norm is not None:
            found = of_norm(*args[has_bias:])
            if found is None:
                return None
        bias = args[0] if has_bias else None
        made = Following(bias, found, limits, is_plain=is_plain, is_constant=is_constant)
        if is_constant:
            kept.append(made)
        return made

    def run(*args: Any, keywords: Mapping[str, Any] = keywords) -> Any:
        for arg in args:
            if arg.__class__ is not np.ndarray:
                return None
        following = kept[0] if kept else follow(args[first:])
        if following is None:
            return None
        return function(*args[:first], following=following, **keywords)

    gaps = dilated_kernels.gaps_of(members)
    if gaps is None:
        return run

    def run_dilated(*args: Any) -> Any:
        found = gaps.split(args)
        if found is None:
            return None
        (x, attributes), filter, others = found
        made = run(x, filter, *others, keywords=attributes)
        return made[:, 0] if gaps.is_line and made is not None else made

    return run_dilated


def _convolution_of(members: Sequence[Compute]) -> Compute | None:
    """Return the node whose op registered how it does what follows."""
    for one in members[:3]:
        kernel = one.item.kernel
        if kernel is not None and kernel.definition.biased_kernel is not None:
            return one
    return None


def _attributes(kernel: Any) -> Mapping[str, Any]:
    """Return the attributes that a kernel's function gets."""
    assert isinstance(kernel.compute, partial)
    return kernel.compute.keywords


def _limits_of(compute: Compute) -> tuple[float, float, float] | None:
    """Return the limits of a node, if it limits its input."""
    if compute.item.op != "LeakyRelu":
        return _LIMITS.get(compute.item.op)
    alpha = _attributes(compute.item.kernel)["alpha"]
    # Other factors are rare; some make NaN of an infinity, or are flushed to zero.
    return (0.0, math.inf, alpha) if _LEAST_FACTOR <= alpha <= 1 else None


def _norm_of(compute: Compute) -> Callable[..., Any] | None:
    kernel = compute.item.kernel
    return None if kernel is None else kernel.definition.channel_norm


class _Finder:
    """Finds the clusters of one program."""

    def __init__(self, program: Program, uses: Mapping[str, int], *, is_plain: bool) -> None:
        self._constants = program.constants
        self._uses = uses
        self._is_plain = is_plain
        self._number = 0

    def find(self, block: Block) -> int:
        """Find the clusters of a block and of the blocks inside it; return the last number."""
        for instruction in block:
            for inside in insides_of(instruction):
                self.find(inside)
        readers: dict[str, int] = {}
        makers: dict[str, int] = {}
        for place, instruction in enumerate(block):
            for name in reads_of(instruction):
                readers.setdefault(name, place)
            for name in writes_of(instruction):
                makers[name] = place
        for place, instruction in enumerate(block):
            if isinstance(instruction, Compute) and _may_begin(instruction):
                self._join(block, place, readers, makers)
        block[:] = [one for one in block if one is not _NOTHING]
        return self._number

    def _join(
        self, block: Block, place: int, readers: Mapping[str, int], makers: Mapping[str, int]
    ) -> None:
        """Join a node and those behind it."""
        dilated = self._dilated(block, place, readers, makers)
        if self._is_plain and dilated is not None:
            # Images of one row are faster in blocks, whose windows are one piece of memory.
            places = dilated if len(dilated) == 3 else [place]
        else:
            places = self._with_following(block, dilated or [place], readers)
        if len(places) == 1:
            return
        first, last = places[0], places[-1]
        members = [block[place] for place in places]
        made = {member.results[0] for member in members}  # type: ignore[union-attr]
        args = [name for one in members for name in reads_of(one) if name not in made]
        given: set[str] = set()
        for place in range(first, last):
            instruction = block[place]
            if place in places:
                given.update(reads_of(instruction))
            elif not _may_pass(instruction) or given.intersection(writes_of(instruction)):
                return
        self._number += 1
        for place in places:
            block[place] = _NOTHING
        block[last] = Cluster(
            self._number,
            args,
            members[-1].results[0],  # type: ignore[union-attr]
            list(members),
            compiled=list(members),  # type: ignore[arg-type]
        )

    def _with_following(
        self, block: Block, places: list[int], readers: Mapping[str, int]
    ) -> list[int]:
        """Return the places of a convolution and of what follows it."""
        is_line = len(places) > 3
        # A norm of volumes has a form of its own.
        has_no_norm = is_line or _is_of_volumes(block[places[0]].item.kernel)  # type: ignore[union-attr]
        for is_fit in (self._is_bias,) if has_no_norm else (self._is_bias, self._is_norm):
            found = self._only_reader(block, places[-1], readers)
            if found is not None and is_fit(block[found], block[places[-1]]):
                places.append(found)
        if len(places) == 1:
            return places
        found = self._only_reader(block, places[-1], readers)
        if found is not None and self._is_limit(block[found]):
            places.append(found)
        elif found is not None and _is_elementwise(block[found]) and _adds(block[places[-1]]):
            # A cluster of elementwise nodes begins with the bias.
            places.pop()
        return places

    def _dilated(
        self, block: Block, place: int, readers: Mapping[str, int], makers: Mapping[str, int]
    ) -> list[int] | None:
        """Return the places of a convolution and of the nodes that make it a dilated one."""
        convolution = block[place]
        assert isinstance(convolution, Compute)
        if not dilated_kernels.has_single_steps(_attributes(convolution.item.kernel)):
            return None
        before = self._only_maker(block, place, makers)
        if before is None:
            return None
        places = [before, place]
        is_line = dilated_kernels.makes_rows(block[before], self._constants)  # type: ignore[arg-type]
        if is_line:
            before = self._only_maker(block, before, makers)
            if before is None:
                return None
            places.insert(0, before)
        for fits in (dilated_kernels.drops_rows, dilated_kernels.ends)[not is_line :]:
            found = self._only_reader(block, places[-1], readers)
            if found is None:
                return None
            after = block[found]
            if not (isinstance(after, Compute) and _is_own(after) and fits(after)):
                return None
            if after.args[0] != block[places[-1]].results[0]:  # type: ignore[union-attr]
                return None
            places.append(found)
        return places if dilated_kernels.begins(block[before]) else None  # type: ignore[arg-type]

    def _only_maker(self, block: Block, place: int, makers: Mapping[str, int]) -> int | None:
        """Return which node made the first argument of another, if only that one reads it."""
        reader = block[place]
        assert isinstance(reader, Compute)
        name = reader.args[0]
        found = makers.get(name)
        if found is None or found > place or self._uses.get(name) != 1:
            return None
        maker = block[found]
        return found if isinstance(maker, Compute) and _is_own(maker) else None

    def _only_reader(self, block: Block, place: int, readers: Mapping[str, int]) -> int | None:
        """Return where the result of a node is read, if that is one place behind it."""
        instruction = block[place]
        assert isinstance(instruction, Compute)
        name = instruction.results[0]
        found = readers.get(name)
        return found if found is not None and found > place and self._uses.get(name) == 1 else None

    def _is_bias(self, found: type_of_instruction, before: type_of_instruction) -> bool:
        """Return whether a node adds a vector to the last dimension of the result before it."""
        if not isinstance(found, Compute) or not _is_pure(found) or len(found.args) != 2:
            return False
        assert isinstance(before, Compute)
        if found.args[0] != before.results[0]:
            return False
        kernel, value = found.item.kernel, self._constants.get(found.args[1])
        assert kernel is not None
        if found.item.op == "BiasAdd":
            # A number in place of the vector is an error of the node.
            return _is_channels_last(kernel) and not isinstance(value, np.generic)
        is_vector = isinstance(value, np.ndarray) and value.ndim == 1
        return found.item.op in _BIASES and is_vector

    def _is_norm(self, found: type_of_instruction, before: type_of_instruction) -> bool:
        """Return whether a node normalizes the result before it with given statistics."""
        if not isinstance(found, Compute) or _norm_of(found) is None or is_on_gpu(found.item):
            return False
        kernel = found.item.kernel
        assert kernel is not None
        assert isinstance(before, Compute)
        if found.item.action not in (PURE_ONE, PURE) or kernel.attrs.get("is_training"):
            return False
        if not (_is_channels_last(kernel) and is_own_kernel(kernel)):
            return False
        is_alone = not any(self._uses.get(name) for name in found.results[1:])
        return is_alone and found.args[0] == before.results[0]

    def _is_limit(self, found: type_of_instruction) -> bool:
        return isinstance(found, Compute) and _is_pure(found) and _limits_of(found) is not None


# Stands where a node was that joined others.
_NOTHING: Any = Cluster(0, [], "", [])


def _may_begin(compute: Compute) -> bool:
    kernel = compute.item.kernel
    if kernel is None or kernel.definition.biased_kernel is None or not _is_pure(compute):
        return False
    dtypes = [one.base_dtype.name for one in compute.item.input_types]
    is_fit = _is_channels_last(kernel) or _is_of_volumes(kernel)
    # The sizes of a gradient are integers.
    return is_fit and is_own_kernel(kernel) and set(dtypes) - {"int32"} == {"float32"}


def _is_pure(compute: Compute) -> bool:
    return compute.item.action == PURE_ONE and not is_on_gpu(compute.item)


def _is_own(compute: Compute) -> bool:
    kernel = compute.item.kernel
    return kernel is not None and is_own_kernel(kernel) and _is_pure(compute)


def _is_channels_last(kernel: Any) -> bool:
    return kernel.attrs.get("data_format") in ("NHWC", b"NHWC")


def _is_of_volumes(kernel: Any) -> bool:
    return kernel.attrs.get("data_format") in ("NDHWC", b"NDHWC")


def _adds(instruction: type_of_instruction) -> bool:
    return isinstance(instruction, Compute) and instruction.item.op in _BIASES


def _is_elementwise(instruction: type_of_instruction) -> bool:
    if not isinstance(instruction, Compute) or instruction.item.kernel is None:
        return False
    types = [one.base_dtype.numpy_dtype for one in instruction.item.input_types]
    return num_instructions(instruction.item.kernel, types) > 0


def _may_pass(instruction: type_of_instruction) -> bool:
    """Return whether an instruction changes nothing that a node before it reads."""
    if isinstance(instruction, Compute):
        return instruction.item.action in WITHOUT_CONTEXT or only_gives(instruction.item)
    return isinstance(instruction, Copy | Assign | Read | Cluster)
