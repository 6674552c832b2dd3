"""Makes a sum of products of transposed matrices as few products of longer matrices.

The gradient of the weights of a recurrent network is a sum over its time steps of products
``transpose(x) @ y`` with few rows each: an AddN of an unrolled network, or a variable of a loop
that gets another product in each iteration.  Their sum is the product of all rows, which BLAS makes
in a third of the time, without reading and writing the sum in each step.

A product is deferred: a :class:`ProductSum` in its register holds the rows until there are enough
of them.  The sum is rounded in another order than one after the other.  Small results, and
matrices that do not fit, are multiplied and added one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.immutable_executor_state import PURE_ONE
from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Block,
    Compute,
    Deferred,
    ExitLoop,
    Loop,
    Program,
    insides_of,
)
from tfnb.common_runtime.lowering.rewrite.clusters import count_uses
from tfnb.common_runtime.lowering.rewrite.sums import (
    UnequalSum,
    finished_sum,
    first_sum,
    is_sum,
    next_sum,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The fewest elements of a result whose products are deferred.
_LEAST = 1024
# Deferred rows are multiplied when there are as many, or when they have as many bytes.
_MOST_ROWS, _MOST_BYTES = 512, 1 << 24
# How many times as large the array may be of which deferred rows are a part.
_MOST_OF_WHOLE = 8


# -- in the program --------------------------------------------------------------------------------


def defer_products(program: Program) -> None:
    """Defer the products of sums in a program, which is changed."""
    uses: dict[str, int] = dict.fromkeys(program.predicates, 1)
    count_uses(program.root, uses)
    _defer(program.root, uses)


def _defer(block: Block, uses: Mapping[str, int]) -> None:
    products: dict[str, int] = {}
    for place, instruction in enumerate(block):
        if isinstance(instruction, Loop) and instruction.body:
            _in_loop(instruction.body, uses)
        elif isinstance(instruction, Compute) and _is_product(instruction, uses):
            products[instruction.results[0]] = place
        elif products and is_sum(instruction):
            _in_sum(block, place, products)
        for inside in insides_of(instruction):
            _defer(inside, uses)


def _is_product(compute: Compute, uses: Mapping[str, int]) -> bool:
    """Return whether a node is ``transpose(a) @ b`` that is read once."""
    item, kernel = compute.item, compute.item.kernel
    return (
        item.op == "MatMul"
        and kernel is not None
        and item.action == PURE_ONE
        and item.compute is kernel.compute
        and kernel.device.xp is np
        and bool(kernel.attrs["transpose_a"])
        and not kernel.attrs["transpose_b"]
        and item.output_types[0].numpy_dtype.char in "fd"
        and uses.get(compute.results[0]) == 1
    )


def _in_sum(block: Block, place: int, products: Mapping[str, int]) -> None:
    """Defer the products that an AddN adds."""
    total = block[place]
    assert isinstance(total, Compute)
    places = sorted(products[arg] for arg in total.args if arg in products)
    if len(places) < 2:
        return
    target = f"{total.results[0]}_sum"
    for number, where in enumerate(places):
        product = block[where]
        assert isinstance(product, Compute)
        before = [target] if number else []
        order = total.args.index(product.results[0])
        block[where] = Deferred(product.item, "product", [*before, *product.args], target, order)
    others = [arg for arg in total.args if arg not in products]
    numbers = [number for number, arg in enumerate(total.args) if arg not in products]
    block[place] = Deferred(total.item, "sum", [target, *others], total.results[0], numbers=numbers)


def _in_loop(body: Block, uses: Mapping[str, int]) -> None:
    """Defer the products that iterations of a loop add to its variables."""
    first = next((place for place, one in enumerate(body) if isinstance(one, ExitLoop)), -1)
    leave, following = body[first], body[-1]
    if not isinstance(leave, ExitLoop) or not isinstance(following, Assign):
        return
    inside: dict[str, int] = {}
    count_uses(body, inside)
    at_exit: dict[str, int] = {}
    count_uses(leave.exits, at_exit)
    variables = dict(zip(following.sources, following.targets, strict=True))
    products: dict[str, int] = {}
    for place, instruction in enumerate(body[first:], first):
        if not isinstance(instruction, Compute):
            continue
        if _is_product(instruction, uses):
            products[instruction.results[0]] = place
        if instruction.item.op not in ("Add", "AddV2"):
            continue
        total, (x, y) = instruction.results[0], instruction.args
        variable, product = (y, x) if x in products else (x, y)
        if (
            product not in products
            or variable == product
            or variables.get(total) != variable
            or uses[total] != 1
            or inside[variable] - at_exit.get(variable, 0) != 1
            or instruction.item.action != PURE_ONE
        ):
            continue
        where = products[product]
        before = body[where]
        assert isinstance(before, Compute)
        body[where] = Deferred(before.item, "further", [variable, *before.args], product)
        body[place] = Deferred(instruction.item, "added", [variable, product], total)
        leave.exits.insert(0, Deferred(instruction.item, "total", [variable], variable))


# -- in a step -------------------------------------------------------------------------------------


class ProductSum:
    """A sum of products, of which some are still to be made.

    Attributes:
      orders: the places, among the inputs of a sum, of the products that were deferred.
      others: products that were not deferred, with their places.
    """

    __slots__ = (
        "_columns", "_dtype", "_multiply", "_num_rows", "_rows", "_shape", "_total", "orders",
        "others",
    )  # fmt: skip

    def __init__(self, multiply: Callable[[Any, Any], Any], total: Any = None) -> None:
        """Initialize the sum.

        Args:
          multiply: the kernel of the products.
          total: the sum before the first product; None if there is none.
        """
        self._multiply = multiply
        self._total = total
        self._shape: tuple[int, ...] | None = None if total is None else total.shape
        self._dtype = None if total is None else total.dtype
        self._rows: list[Any] = []
        self._columns: list[Any] = []
        self._num_rows = 0
        self.orders: list[int] = []
        self.others: list[tuple[int, Any]] = []

    def takes(self, a: Any, b: Any) -> bool:
        """Defer a product; return False if it does not fit."""
        if not a.__class__ is b.__class__ is np.ndarray or not a.ndim == 2 == b.ndim:
            return False
        shape, rows = (a.shape[1], b.shape[1]), a.shape[0]
        if shape != self._shape or a.dtype is not self._dtype:
            if self._shape is not None or shape[0] * shape[1] < _LEAST:
                return False
            self._shape, self._dtype = shape, a.dtype
        if rows != b.shape[0] or b.dtype is not self._dtype:
            return False
        self._rows.append(_alone(a))
        self._columns.append(_alone(b))
        self._num_rows += rows
        if (
            self._num_rows >= _MOST_ROWS
            or self._num_rows * (shape[0] + shape[1]) * a.itemsize >= _MOST_BYTES
        ):
            self._flush()
        return True

    def _flush(self) -> None:
        """Make the deferred products."""
        rows, columns = self._rows, self._columns
        self._rows, self._columns, self._num_rows = [], [], 0
        if len(rows) == 1:
            product = self._multiply(rows[0], columns[0])
        else:
            product = self._multiply(np.concatenate(rows), np.concatenate(columns))
        if self._total is None:
            self._total = product
        else:
            product += self._total  # the product is new, the first total may have other holders
            self._total = product

    def total(self) -> Any:
        """Return the sum of all deferred products; None if there were none."""
        if self._rows:
            self._flush()
        return self._total


def _alone(rows: Any) -> Any:
    """Return rows that keep no array in memory that is much larger than they are."""
    size = getattr(rows.base, "nbytes", 0)
    return rows.copy() if size > _MOST_OF_WHOLE * rows.nbytes else rows


def product(multiply: Callable[[Any, Any], Any], order: int, *given: Any) -> ProductSum:
    """Return a sum with another product.

    Args:
      multiply: the kernel of the product.
      order: its place among the inputs of the sum.
      given: the sum before, unless this is the first product, and the two matrices.
    """
    *before, a, b = given
    found: ProductSum = before[0] if before else ProductSum(multiply)
    if found.takes(a, b):
        found.orders.append(order)
    else:
        found.others.append((order, multiply(a, b)))
    return found


def summed(op: str, numbers: list[int], products: ProductSum, *others: Any) -> Any:
    """Return the sum of products and of other tensors, in the order of the inputs if possible.

    Raises:
      InvalidArgumentError: the tensors differ in shape.
    """
    total = products.total()
    rest = sorted([*products.others, *zip(numbers, others, strict=True)], key=lambda one: one[0])
    values = [value for _, value in rest]
    if total is not None:
        values.insert(0, total)
    if len(values) == 1:
        return values[0]
    result = first_sum(values[0], values[1])
    for number, value in enumerate(values[2:], 2):
        result = next_sum(result, value, number)
    if total is not None and result.__class__ is not np.ndarray:
        shapes = dict.fromkeys(products.orders, total.shape)
        shapes |= {order: value.shape for order, value in rest}
        odd = min(order for order, shape in shapes.items() if shape != shapes[0])
        result = UnequalSum((shapes[0], shapes[odd]), odd)
    return finished_sum(result, op)


def further(multiply: Callable[[Any, Any], Any], before: Any, a: Any, b: Any) -> Any:
    """Return a sum in a loop with another product, or the product if it is not deferred."""
    if before.__class__ is ProductSum:
        return before if before.takes(a, b) else multiply(a, b)
    if before.__class__ is np.ndarray and before.size >= _LEAST:
        found = ProductSum(multiply, before)
        if found.takes(a, b):
            return found
    return multiply(a, b)


def added(before: Any, value: Any) -> Any:
    """Return the sum of a variable of a loop and of what :func:`further` returned."""
    return value if value.__class__ is ProductSum else total_of(before) + value


def total_of(value: Any) -> Any:
    """Return the value of a variable of a loop when the loop ends."""
    return value.total() if value.__class__ is ProductSum else value


RUN = {"product": product, "sum": summed, "further": further, "added": added, "total": total_of}
