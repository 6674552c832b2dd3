"""Elementwise nodes of a CPU as compiled kernels: which nodes, and when a kernel is worth its cost.

A *compiled cluster* holds elementwise nodes that depend on each other, of any types; results that
other nodes read are results of the cluster.  Its nodes run one after the other until their kernel
is ready, and wherever the kernel does not fit: other shapes, results of several shapes, arrays that
are not contiguous.

A cluster may have means and sums of rows, as those of a layer norm (``row_code.py``).  It has
smaller clusters inside, which are used where its own kernel does not fit.

A function with clusters calls a :class:`WarmUp` once a step.  In the steps 32, 64, 128, ... the
clusters record the shapes that they get, and how often; if steps take long, the first of these is
an earlier one.  A kernel is compiled once its nodes have probably run for a share of the time of
its compilation (``Prices``); a program that runs a few steps compiles nothing.  Earlier, a kernel
is looked for among those on disk.  Kernels are put into a function when a step of it begins, so
that the loops of one step compute all iterations alike.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.immutable_executor_state import PURE_ONE
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
from tfnb.common_runtime.lowering.rewrite.biased_kernels import find_biased
from tfnb.common_runtime.lowering.rewrite.clusters import (
    count_uses,
    is_on_gpu,
    only_gives,
)
from tfnb.common_runtime.lowering.support.machine_code import (
    PARTS,
    KernelSource,
    data_of,
    form_of,
    form_of_node,
    num_instructions,
    write_kernel,
)
from tfnb.common_runtime.lowering.support.row_code import is_row_reduction, write_row_kernel
from tfnb.common_runtime.lowering.support.traced import (
    NotElementwise,
    forget_some,
    is_own_kernel,
)
from tfnb.core.compiled.array_calls import as_function
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import Prices, shared_unit
from tfnb.core.process.work_sharder import shard

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.common_runtime.lowering.support.traced import type_of_form, type_of_member
    from tfnb.core.compiled.helper import CompiledKernel

_FEWEST = 2  # minimum number of instructions
_MOST = 48  # nodes of a cluster
# A cluster ends when this number of instructions add nothing to it: its inputs live no longer.
_PATIENCE = 24


# -- in the program --------------------------------------------------------------------------------


def find_compiled(program: Program, scalars: Collection[str]) -> bool:
    """Replace elementwise nodes in a program by compiled clusters; return whether there are any.

    Args:
      program: the program; it is changed.
      scalars: the registers that hold scalars, with which Python computes as fast.
    """
    uses: dict[str, int] = dict.fromkeys(program.predicates, 1)
    count_uses(program.root, uses)
    # Clusters with reductions of rows have smaller clusters inside, for rows that do not fit.
    finder = _Finder(program, scalars, uses, reduces=True)
    finder.number = find_biased(program, uses)
    finder.find(program.root)
    finder.reduces = False
    finder.find(program.root)
    return finder.number > 0


class _Growing:
    """A cluster under construction."""

    __slots__ = ("age", "members", "size")

    def __init__(self) -> None:
        self.members: list[Compute] = []
        self.size = 0
        self.age = 0


class _Finder:
    """Finds the compiled clusters of one program.

    Attributes:
      reduces: whether it finds clusters with reductions of rows, or those without.
      number: the number of clusters.
    """

    def __init__(
        self, program: Program, scalars: Collection[str], uses: dict[str, int], *, reduces: bool
    ) -> None:
        self.reduces = reduces
        self._constants = program.constants
        self._scalars = scalars
        self._uses = uses
        self.number = 0

    def find(self, block: Block) -> None:
        """Find the clusters of a block and of the blocks inside it, which are changed."""
        for instruction in block:
            for inside in insides_of(instruction):
                self.find(inside)
        made: Block = []
        growing: dict[str, _Growing] = {}  # by the registers that it sets

        def close(names: Collection[str]) -> None:
            for name in names:
                cluster = growing.get(name)
                if cluster is not None:
                    for member in cluster.members:
                        del growing[member.results[0]]
                    made.extend(self._closed(cluster))

        for instruction in block:
            size = self._size_of(instruction)
            if not size:
                passes = isinstance(instruction, Copy | Assign | Read | PartialSum | Deferred)
                if isinstance(instruction, Compute):
                    passes = only_gives(instruction.item)
                close(reads_of(instruction) if passes else list(growing))
                made.append(instruction)
            else:
                assert isinstance(instruction, Compute)
                self._add(instruction, size, growing, close)
            for cluster in list(dict.fromkeys(growing.values())):
                cluster.age += 1
                if cluster.age > _PATIENCE:
                    close([cluster.members[0].results[0]])
        close(list(growing))
        block[:] = made

    def _add(
        self,
        compute: Compute,
        size: int,
        growing: dict[str, _Growing],
        close: Callable[[Collection[str]], None],
    ) -> None:
        """Add a node to the clusters that compute its inputs, which become one."""
        before = dict.fromkeys(growing[name] for name in compute.args if name in growing)
        if sum(len(one.members) for one in before) >= _MOST:
            close(compute.args)
            before = {}
        cluster = next(iter(before), None) or _Growing()
        for other in before:
            if other is not cluster:
                cluster.members += other.members
                cluster.size += other.size
        cluster.members.append(compute)
        cluster.size += size
        cluster.age = 0
        for member in cluster.members:
            growing[member.results[0]] = cluster

    def _size_of(self, instruction: object) -> int:
        """Return the number of instructions of a node that may be in a cluster; 0 of others."""
        if not isinstance(instruction, Compute) or instruction.item.action != PURE_ONE:
            return 0
        item = instruction.item
        if instruction.results[0] in self._scalars or item.kernel is None or is_on_gpu(item):
            return 0
        if self.reduces and self._is_reduction(instruction):
            return 1
        return instructions_of(item)

    def _is_reduction(self, compute: Compute) -> bool:
        """Return whether a node reduces one axis of floats, which is known, and keeps it."""
        kernel = compute.item.kernel
        if kernel is None or not is_row_reduction(kernel) or not is_own_kernel(kernel):
            return False
        return np.size(self._constants.get(compute.args[1], ())) == 1

    def _closed(self, cluster: _Growing) -> Block:
        """Return the instructions of a cluster that does not grow any more."""
        members = cluster.members
        inner: dict[str, int] = {}
        for member in members:
            for arg in member.args:
                inner[arg] = inner.get(arg, 0) + 1
        made = [member.results[0] for member in members]
        reductions = [member for member in members if self.reduces and self._is_reduction(member)]
        if self.reduces and not reductions:
            return list(members)
        axes = {member.args[1] for member in reductions}
        results = [name for name in made if self._uses.get(name, 0) > inner.get(name, 0)]
        args = [
            name
            for name in dict.fromkeys(arg for member in members for arg in member.args)
            if name not in made and name not in axes and not is_literal(self._constants.get(name))
        ]
        if cluster.size < _FEWEST or not args or not results:
            return list(members)
        self.number += 1
        return [
            Cluster(
                self.number,
                args,
                results[0],
                list(members),
                other_results=results[1:],
                compiled=list(members),
            )
        ]


def instructions_of(item: NodeItem) -> int:
    """Return the number of instructions of a node in a compiled kernel; 0 if it cannot be in one.

    The result of a node with one function is at least 1.
    """
    assert item.kernel is not None
    return num_instructions(item.kernel, [one.base_dtype.numpy_dtype for one in item.input_types])


def is_literal(value: Any) -> bool:
    """Return whether a constant is written into the source of a kernel."""
    return isinstance(value, np.bool | np.number)


# -- running a cluster in a step -------------------------------------------------------------------


# Estimates of a node's time without a kernel.
_SECONDS_OF_CALL = 1e-6
_SECONDS_OF_ELEMENT = 0.7e-9
# Elements times instructions from which on threads of Python share the work: 100 us.
_LARGE = 1 << 19
# The same for the team (``core/compiled/team.py``), and an estimate of a function of an element.
_LEAST_SHARED, _NS_OF_FUNCTION = 1 << 17, 0.2


class _Heat:
    """How long the nodes of one kernel have run, in all functions that would use it."""

    __slots__ = ("kernel", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.kernel: CompiledKernel | None = None


# New forms of a cluster in one recorded step: a loop may have other shapes in each iteration.
_MOST_NEW_FORMS = 8
# Larger results are computed tile by tile, in the memory of an input that ends (``clusters.py``).
_MOST_BYTES = 1 << 24


_heats: dict[str, _Heat] = {}
_lock = threading.Lock()


class _Form:
    """A cluster for arguments of certain types and shapes.

    Attributes:
      runs: how often it came in the steps that are recorded.
      run: computes the results, or returns None; None until the kernel is ready.
    """

    __slots__ = ("_heat", "_inputs", "_kinds", "_nodes", "_source", "run", "runs", "weight")

    def __init__(
        self,
        source: KernelSource,
        inputs: Sequence[type_of_form],
        kinds: str,
        nodes: _Division | _Whole,
    ) -> None:
        self._source, self._inputs, self._kinds, self._nodes = source, inputs, kinds, nodes
        self.runs = 0
        self.run: Callable[..., Any] | None = None
        elements = math.prod(source.shape)
        self.weight = nodes.num_compiled * (_SECONDS_OF_CALL + elements * _SECONDS_OF_ELEMENT)
        with _lock:
            self._heat = _heats.setdefault(source.text, _Heat())

    @property
    def source(self) -> str:
        """The text of its kernel, which forms may share."""
        return self._source.text

    @property
    def is_pending(self) -> bool:
        """Whether its kernel was requested and is not ready."""
        kernel = self._heat.kernel
        return kernel is not None and kernel.is_pending

    def pay(self, steps: int) -> None:
        """Note the runs of a number of steps like the recorded ones."""
        seconds = self.runs * steps * self.weight
        self.runs = 0
        self._heat.seconds += seconds
        Prices.paid += seconds

    def heat(self) -> float:
        """Return how long the nodes of its kernel have run, in seconds."""
        return self._heat.seconds

    def request(self, others: int) -> None:
        """Request the kernel if that pays.

        Args:
          others: the number of other kernels of the cluster: one of shapes that change from
            call to call has to be worth more.
        """
        heat = self._heat
        if Prices.paid < Prices.of_start or heat.seconds < Prices.of_look:
            return
        pays = heat.seconds >= Prices.of_kernel * (1 + others)
        if heat.kernel is None or (pays and not heat.kernel.pays):
            heat.kernel = HELPER.request(self._source.text, PARTS, pays=pays)

    def take(self) -> bool:
        """Use the kernel if it is ready; return whether it is."""
        kernel = self._heat.kernel
        if self.run is None and kernel is not None and kernel.addresses:
            self.run = self._runner(kernel)
        return self.run is not None

    def _runner(self, kernel: CompiledKernel) -> Callable[..., Any]:
        source = self._source
        data = data_of(source, self._inputs, self._kinds)
        call = as_function(kernel.addresses[0], data)
        elements = math.prod(source.shape)
        if elements * source.num_functions >= _LEAST_SHARED:
            run = _large_runner(call, source, elements)
        else:
            run = _small_runner(call, source)
        return run if self._nodes.is_whole else self._nodes.runner(run)


def _small_runner(call: Callable[..., Any], source: KernelSource) -> Callable[..., Any]:
    """Return the function that computes small results at once."""
    shapes, dtypes, empty = source.shapes, source.dtypes, np.empty
    if len(dtypes) == 1:
        shape, dtype = shapes[0], dtypes[0]
        return lambda *args: call(*args, empty(shape, dtype))

    def run(*args: Any) -> Any:
        results = list(map(empty, shapes, dtypes))
        return None if call(*args, *results) is None else results

    return run


def _large_runner(
    call: Callable[..., Any], source: KernelSource, elements: int
) -> Callable[..., Any]:
    """Return the function that computes large results on several threads."""
    empty, shapes, dtypes, size = np.empty, source.shapes, source.dtypes, source.sizes[0]
    least = _LARGE // (elements // size * source.num_functions) + 1

    def run(*args: Any) -> Any:
        try:
            results = list(map(empty, shapes, dtypes))
        except MemoryError:
            return None  # the nodes need less at a time, or raise the error
        ns = elements * source.num_functions * _NS_OF_FUNCTION
        if unit := shared_unit(size, ns):
            if call(*args, *results, np.array([0, size, unit], np.int64)) is None:
                return None
            return results[0] if len(results) == 1 else results
        fits = True

        def work(first: int, last: int) -> None:
            nonlocal fits
            if call(*args, *results, np.array([first, last, 0], np.int64)) is None:
                fits = False

        shard(size, least, work)
        if not fits:
            return None
        return results[0] if len(results) == 1 else results

    return run


class _Whole:
    """The nodes of a cluster that are all compiled, as those with reductions of rows are."""

    is_whole = True

    def __init__(self, num_compiled: int) -> None:
        self.num_compiled = num_compiled

    def runner(self, compiled: Callable[..., Any]) -> Callable[..., Any]:
        """Return the kernel itself."""
        return compiled


class _Division:
    """The nodes of a cluster for arguments of certain shapes: by themselves, and compiled.

    A node whose result is smaller than those of the last nodes, for example a condition for whole
    rows, runs by itself; its result is an input of the kernel.

    Attributes:
      members, inputs, kinds, outputs: those of the kernel, see ``write_kernel``.
      is_whole: whether all nodes are compiled, and the kernel has the arguments of the cluster.
      num_compiled: the number of nodes that are compiled.
    """

    def __init__(
        self,
        members: Sequence[type_of_member],
        outputs: Sequence[int],
        inputs: Sequence[type_of_form],
        kinds: str,
    ) -> None:
        """Divide the nodes.

        Raises:
          NotElementwise: a node is not supported for these arguments.
        """
        forms: list[type_of_form] = []
        for kernel, args in members:
            forms.append(form_of_node(kernel, [
                form_of(arg) if isinstance(arg, np.generic)
                else forms[arg[0]] if isinstance(arg, tuple) else inputs[arg]
                for arg in args
            ]))  # fmt: skip
        shape = max((one[1] for one in forms), key=lambda one: (math.prod(one), len(one)))
        self._alone = [i for i, one in enumerate(forms) if one[1] != shape]
        for number in self._alone:
            for arg in members[number][1]:
                if isinstance(arg, tuple) and arg[0] not in self._alone:
                    raise NotElementwise("results of several shapes")
        self.num_compiled = len(members) - len(self._alone)
        self.is_whole = not self._alone
        self._all = members
        self._outputs = outputs
        self.members: list[type_of_member] = []
        self.inputs: list[type_of_form] = []
        # Inputs of the kernel: the number of an argument, or (number,) of a node by itself.
        self._given: list[int | tuple[int]] = []
        self.outputs: list[int] = []
        self.kinds = ""
        if self.is_whole:
            self.members, self.inputs, self.kinds = list(members), list(inputs), kinds
            self.outputs = list(outputs)
            return
        new_number: dict[int, int] = {}
        for number, (kernel, args) in enumerate(members):
            if number in self._alone:
                continue
            new_number[number] = len(self.members)
            mapped: list[Any] = []
            for arg in args:
                if isinstance(arg, np.generic):
                    mapped.append(arg)
                elif isinstance(arg, tuple) and arg[0] in new_number:
                    mapped.append((new_number[arg[0]],))
                else:
                    if arg not in self._given:
                        self._given.append(arg)
                        is_node = isinstance(arg, tuple)
                        form = forms[arg[0]] if is_node else inputs[arg]
                        self.inputs.append(form)
                        is_number = is_node and not form[1]
                        self.kinds += "n" if is_number else "a" if is_node else kinds[arg]
                    mapped.append(self._given.index(arg))
            self.members.append((kernel, mapped))
        self.outputs = [new_number[one] for one in outputs if one in new_number]
        if not self.outputs:
            raise NotElementwise("no large result")

    def runner(self, compiled: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that runs some nodes by themselves, then the kernel.

        Its source is written here, because a loop over the nodes takes longer than small kernels.
        """
        names: dict[str, Any] = {"compiled": compiled}
        lines: list[str] = []
        num_args = 0

        def name_of(source: Any) -> str:
            nonlocal num_args
            if isinstance(source, tuple):
                return f"node{source[0]}"
            if isinstance(source, np.generic):
                name = f"number{len(names)}"
                names[name] = source
                return name
            num_args = max(num_args, source + 1)
            return f"arg{source}"

        for number in self._alone:
            kernel, sources = self._all[number]
            names[f"compute{number}"] = kernel.compute
            given = ", ".join(map(name_of, sources))
            lines.append(f"node{number} = compute{number}({given})")
        lines.append(f"found = compiled({', '.join(map(name_of, self._given))})")
        if len(self._outputs) > 1:
            lines += ["if found is None:", "    return None"]
            position, results = 0, []
            for number in self._outputs:
                if number in self._alone:
                    results.append(f"node{number}")
                    continue
                results.append("found" if len(self.outputs) == 1 else f"found[{position}]")
                position += 1
            lines.append(f"return [{', '.join(results)}]")
        else:
            lines.append("return found")
        args = [f"arg{number}" for number in range(num_args)]
        head = f"def run({', '.join([*args, '*others'])}):"
        exec("\n".join([head, *(f"    {line}" for line in lines)]), names)
        run: Callable[..., Any] = names["run"]
        return run


class CompiledCluster:
    """A cluster as the emitted function calls it: returns the results, or None to run its nodes.

    Attributes:
      forms: its forms, by the types and shapes of the arguments; None where it has no kernel.
      refusals: why it has none.
      records: whether it records the forms of this step.
      reduces: whether it has reductions of rows.
    """

    __slots__ = (
        "_by_shapes", "_latest", "_members", "_num_new", "_outputs", "forms", "records", "reduces",
        "refusals",
    )  # fmt: skip

    def __init__(self, members: Sequence[type_of_member], outputs: Sequence[int]) -> None:
        """Initialize the cluster.

        Args:
          members: its nodes, see ``write_kernel``.
          outputs: the numbers of the nodes whose results are its own.
        """
        self._members = members
        self._outputs = outputs
        self.reduces = any(is_row_reduction(kernel) for kernel, _ in members)
        self._latest: Callable[..., Any] = _none
        # Forms that are ready; they check the types themselves.
        self._by_shapes: dict[Any, Callable[..., Any]] = {}
        self.forms: dict[Any, _Form | None] = {}
        self.refusals: dict[Any, str] = {}
        self.records = False
        self._num_new = 0

    def record(self, records: bool) -> None:
        """Begin to record the forms of a step, or end it."""
        self.records, self._num_new = records, 0

    def __call__(self, *args: Any) -> Any:
        """Return the results, or None."""
        found = self._latest(*args)
        return found if found is not None else self._other(args)

    def _other(self, args: Sequence[Any]) -> Any:
        """Compute the results by another form than the latest one."""
        shapes = tuple([getattr(arg, "shape", None) for arg in args])
        run = self._by_shapes.get(shapes)
        if run is not None:
            found = run(*args)
            if found is not None:
                self._latest = run
                return found
        key = tuple([
            (arg.dtype, arg.shape, "a" if arg.flags.c_contiguous else "s")
            if arg.__class__ is np.ndarray
            else (getattr(arg, "dtype", None), (), "n")
            for arg in args
        ])  # fmt: skip
        form = self.forms.get(key)
        if form is not None and form.run is not None:
            found = form.run(*args)
            if found is not None:
                self._latest = form.run
                forget_some(self._by_shapes)
                self._by_shapes[shapes] = form.run
            return found
        if self.records:
            if form is None and key not in self.forms and self._num_new < _MOST_NEW_FORMS:
                self._num_new += 1
                form = self._add_form(key)
            if form is not None:
                form.runs += 1
        return None

    def _add_form(self, key: Any) -> _Form | None:
        forget_some(self.forms)
        form = None
        if all(dtype is not None for dtype, _, _ in key):
            inputs = [(dtype, shape) for dtype, shape, _ in key]
            kinds = "".join(kind for _, _, kind in key)
            try:
                form = self._form_of(inputs, kinds)
            except NotElementwise as reason:
                forget_some(self.refusals)
                self.refusals[key] = str(reason)
        self.forms[key] = form
        return form

    def _form_of(self, inputs: Sequence[type_of_form], kinds: str) -> _Form:
        nodes: _Division | _Whole
        if self.reduces:
            nodes = _Whole(len(self._members))
            source = write_row_kernel(self._members, inputs, self._outputs, kinds)
        else:
            nodes = _Division(self._members, self._outputs, inputs, kinds)
            inputs, kinds = nodes.inputs, nodes.kinds
            source = write_kernel(nodes.members, inputs, nodes.outputs, kinds)
        if math.prod(source.shape) * max(one.itemsize for one in source.dtypes) > _MOST_BYTES:
            raise NotElementwise("large results")
        return _Form(source, inputs, kinds, nodes)

    def forms_of_arrays(self) -> list[_Form]:
        """Return the forms that may have a kernel."""
        return [form for form in list(self.forms.values()) if form is not None]


def _none(*_args: Any) -> None:
    """Return None."""


class WarmUp:
    """Decides, once in each step of a function, which of its clusters run as kernels."""

    __slots__ = (
        "_began", "_clusters", "_lock", "_names", "_next", "_recorded_at", "_records_at", "_steps",
    )  # fmt: skip

    def __init__(self, names: dict[str, Any], clusters: dict[str, CompiledCluster]) -> None:
        """Initialize.

        Args:
          names: the names of the function; a cluster's name is None while its nodes run.
          clusters: the clusters by name.
        """
        self._names = names
        self._clusters = clusters
        self._lock = threading.Lock()
        self._began = 0.0
        self._steps = 0
        self._next = 1
        self._records_at = 0  # until the first record
        self._recorded_at = 0

    def __call__(self) -> None:
        """Begin a step."""
        steps = self._steps = self._steps + 1
        # A `with` statement takes the lock: an interrupt after a call of acquire() would keep it.
        if steps >= self._next and not self._lock.locked():
            with self._lock:
                self._look(steps)

    def _is_early(self, steps: int) -> bool:
        """Return whether the steps so far are too cheap for the first record."""
        now = time.process_time()
        self._began = self._began or now
        return steps < Prices.first_step and now - self._began < Prices.first_seconds

    def _look(self, steps: int) -> None:
        if not self._records_at and self._is_early(steps):
            self._next = steps + 1
            return
        clusters, is_pending = self._clusters, False
        if any(one.records for one in clusters.values()):
            for cluster in clusters.values():
                cluster.record(False)
                for form in cluster.forms_of_arrays():
                    form.pay(steps - self._recorded_at)
            # The hottest ones first: they are compiled one after the other.
            wanted = []
            for cluster in clusters.values():
                by_source = {form.source: form for form in cluster.forms_of_arrays()}
                wanted += [(form, len(by_source) - 1) for form in by_source.values()]
            for form, others in sorted(wanted, key=lambda pair: pair[0].heat(), reverse=True):
                form.request(others)
            self._recorded_at = steps
        is_recorded = steps >= self._records_at
        if is_recorded:
            self._records_at = 2 * steps
        for name, cluster in clusters.items():
            is_ready = False
            for form in cluster.forms_of_arrays():
                is_ready |= form.take()
                is_pending |= form.is_pending
            cluster.record(is_recorded)
            self._names[name] = cluster if is_ready or is_recorded else None
        self._next = steps + 1 if is_pending or is_recorded else self._records_at
