"""Writes clusters and segments: a call that computes the whole, and its nodes as a fallback.

Below the step are the functions that it calls: for each cluster one that computes a tile, and for
each segment one to be captured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.immutable_executor_state import ARG, LARGE_BYTES
from tfnb.common_runtime.lowering.recognise.program import (
    Block,
    Cluster,
    Compute,
    Free,
    Program,
    Segment,
)
from tfnb.common_runtime.lowering.rewrite.biased_kernels import biased_function, is_biased
from tfnb.common_runtime.lowering.rewrite.clusters import (
    TiledCluster,
    TilePlan,
    plan_tile,
    vector_args,
)
from tfnb.core.kernel_expressions import tile_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from tfnb.common_runtime.lowering.recognise.program import type_of_instruction
    from tfnb.common_runtime.lowering.write.node_writer import NodeWriter
    from tfnb.common_runtime.lowering.write.source import Source


class ClusterWriter:
    """Writes the clusters and segments of one partition.

    Attributes:
      makers: functions that make the step's callees, by name, from the names defined so far.
    """

    def __init__(
        self,
        source: Source,
        nodes: NodeWriter,
        write_block: Callable[[Block], None],
        program: Program,
        scalars: Collection[str],
        segments: Any,
        compiled: Any,
    ) -> None:
        """Initialize the writer.

        Args:
          source: receives the lines.
          nodes: writes the lines of single nodes.
          write_block: writes a block's instructions one by one.
          program: the program that contains the clusters and segments.
          scalars: the registers that hold scalars.
          segments: the module ``segments.py``, if there is a GPU.
          compiled: the module ``compiled_clusters.py``, if the program has such clusters.
        """
        self._source = source
        self._nodes = nodes
        self._write_block = write_block
        self._program = program
        self._scalars = scalars
        self._on_gpu = segments
        self._compiling = compiled
        self.makers: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self._tiles: list[tuple[str, Cluster, TilePlan]] = []
        self._segments: list[tuple[str, Segment]] = []
        self._compiled_clusters: dict[str, Any] = {}

    def cluster(self, cluster: Cluster, following: type_of_instruction | None) -> None:
        """Write a cluster; ``following`` is the instruction behind it."""
        source = self._source
        if cluster.result in self._scalars:
            self._write_block(cluster.plain)
            return
        if cluster.compiled:
            self._compiled(cluster)
            return
        if cluster.is_on_gpu:
            self._fused(cluster)
            return
        ending = set(following.registers) if isinstance(following, Free) else set()
        members = _members(cluster)
        name = f"tiles{cluster.number}"
        source.check(1)
        least = LARGE_BYTES // members[-1].item.output_types[0].numpy_dtype.itemsize
        small = " and ".join(f"{arg}.size < {least}" for arg in cluster.args)
        call = f"{name}({', '.join(cluster.args)})"
        source.line(f"if {small} or ({cluster.result} := {call}) is None:")
        source.unchecked = 0.0
        self._one_by_one(cluster.plain)
        over = {
            arg: f"{name}_{arg}" for arg in cluster.args if arg in ending and self._is_made(arg)
        }
        plans = {arg: plan_tile(cluster, arg) for arg in over}
        plan = plan_tile(cluster)
        self._tiles.append((name, cluster, plan))
        self._tiles += [(over[arg], cluster, plans[arg]) for arg in over]
        numbers = {arg: number for number, arg in enumerate(cluster.args)}
        sources = [
            [numbers.get(arg, arg) for arg in one.args if arg in numbers or arg[0] != "c"]
            for one in members
        ]
        vectors = {numbers[arg] for one in members for arg in vector_args(one) if arg in numbers}

        def make(names: dict[str, Any]) -> TiledCluster:
            return TiledCluster(
                members[-1].item.output_types[0].numpy_dtype,
                sources,
                (names[f"{name}_tile"], plan.num_spares),
                {numbers[arg]: (names[f"{over[arg]}_tile"], plans[arg].num_spares) for arg in over},
                vectors,
            )

        self.makers[name] = make

    def segment(self, segment: Segment) -> None:
        """Write kernels of a GPU that may be captured as a CUDA graph."""
        source = self._source
        first, name = segment.plain[0], f"segment{segment.number}"
        member = first.plain[0] if isinstance(first, Cluster) else first
        assert isinstance(member, Compute)
        assert member.item.kernel is not None
        device: Any = member.item.kernel.device
        source.check(1)
        call = f"{name}({', '.join(segment.args)})"
        source.line(f"if (out := {call}) is None:", member.item, segment.args)
        source.unchecked = 0.0
        self._one_by_one(segment.plain)
        source.line("else:")
        source.line(f"    {', '.join(segment.results)}, = out")
        source.line("    del out")
        self._segments.append((name, segment))
        self.makers[name] = lambda names: self._on_gpu.GraphSegment(
            device, names[f"{name}_body"], len(segment.plain)
        )

    def functions(self) -> None:
        """Write the functions below the step."""
        source = self._source
        for name, cluster, plan in self._tiles:
            spares = [f"spare{number + 1}" for number in range(plan.num_spares)]
            source.line("")
            source.line(f"def {name}_tile({', '.join([*cluster.args, 'out', *spares])}):")
            with source.indented():
                self._tile(cluster, plan)
        for name, segment in self._segments:
            source.line("")
            source.line(f"def {name}_body({', '.join(segment.args)}):")
            with source.indented():
                source.unchecked = -float("inf")  # no checks: a step cannot end inside a capture
                self._write_block(segment.plain)
                source.line(f"return {', '.join(segment.results)},")

    def _tile(self, cluster: Cluster, plan: TilePlan) -> None:
        members = _members(cluster)
        for member, target, places in zip(members, plan.targets, plan.places, strict=True):
            kernel = member.item.kernel
            expression = None if kernel is None else tile_of(kernel)
            assert expression is not None
            args = [places.get(arg, arg) for arg in member.args]
            self._source.line(self._nodes.write(expression, member.item, args, target), member.item)

    def _fused(self, cluster: Cluster) -> None:
        """Write a cluster on a GPU."""
        source, name = self._source, f"fused{cluster.number}"
        if name not in source.names:
            source.names[name] = self._on_gpu.fused_of(cluster, self._program.item_of)
        source.check(1)
        call = f"{name}({', '.join(cluster.args)})"
        item = _members(cluster)[-1].item
        source.line(f"if ({cluster.result} := {call}) is None:", item, cluster.args)
        self._one_by_one(cluster.plain)

    def _compiled(self, cluster: Cluster) -> None:
        """Write a cluster that becomes a kernel once it is worth it; its name is None until then.

        The results of a kernel are new arrays, as those of the nodes are.
        """
        source, name = self._source, f"kernel{cluster.number}"
        members = cluster.compiled
        clusters, compiling = self._compiled_clusters, self._compiling
        if compiling is not None:
            self.makers["warm_up"] = lambda names: compiling.WarmUp(names, clusters)
        if is_biased(cluster):
            constants = self._program.constants
            is_plain = compiling is None
            source.names[name] = biased_function(members, constants, is_plain=is_plain)
            source.check(1)
            call = f"{name}({', '.join(cluster.args)})"
            source.line(f"if ({cluster.result} := {call}) is None:", members[0].item, cluster.args)
            source.unchecked = 0.0
            self._one_by_one(cluster.plain)
            return
        numbers: dict[str, Any] = {arg: number for number, arg in enumerate(cluster.args)}
        kernels = []
        for position, one in enumerate(members):
            args = [numbers[x] if x in numbers else self._program.constants[x] for x in one.args]
            kernels.append((one.item.kernel, args))
            numbers[one.results[0]] = (position,)
        results = [cluster.result, *cluster.other_results]
        clusters[name] = compiling.CompiledCluster(kernels, [numbers[one][0] for one in results])
        source.names[name] = None
        source.check(1)
        target = cluster.result if len(results) == 1 else "made"
        call = f"{name}({', '.join(cluster.args)})"
        source.line(f"if {name} is None or ({target} := {call}) is None:")
        source.unchecked = 0.0
        self._one_by_one(cluster.plain)
        if len(results) > 1:
            source.line("else:")
            source.line(f"    {', '.join(results)} = made")
            source.line("    del made")

    def _one_by_one(self, block: Block) -> None:
        with self._source.indented():
            self._write_block(block)

    def _is_made(self, register: str) -> bool:
        """Return whether a node of the step made the value; other registers hold feeds or reads."""
        found = self._program.item_of.get(register)
        return found is not None and found[0].action != ARG


def _members(cluster: Cluster) -> list[Compute]:
    return [one for one in cluster.plain if isinstance(one, Compute)]
