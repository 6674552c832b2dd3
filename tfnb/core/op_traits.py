"""Traits: the properties of an op, besides its signature and kernels, that other folders use.

An op names its traits where it is registered: ``register_op("MatMul", ..., traits="product
c_order")``. Other folders query a trait with :func:`tfnb.core.op_registry.ops_with`, and so need no
list of op names. A trait exists only if some folder queries it. The runtime names only the ops that
it gives meaning to (Switch, Send, PartitionedCall, ...; ``graph/node_kind.py``).
"""

from __future__ import annotations

import enum
from functools import cache


class Trait(enum.Enum):
    """One property of an op."""

    # -- the memory of outputs

    FORWARDS = "forwards"
    """The output is the first input: no value is computed."""
    SAME_LAYOUT = "same_layout"
    """The kernel is elementwise: its new array has the axis order of the inputs."""
    C_ORDER = "c_order"
    """The kernel makes a new array in C order for any layout of the inputs."""
    LENDS = "lends"
    """The output is memory that a variable, another node or the session already holds."""
    FROM_BEFORE = "from_before"
    """The output existed before the step: a constant, an argument, a reference to a variable."""
    FIXED = "fixed"
    """Without inputs, the output is the same in every step of a session."""

    # -- where the output comes from

    SHAPE_QUERY = "shape_query"
    """The output depends on the shape of the input alone."""
    UNCHECKED_SHAPE = "unchecked_shape"
    """The shape function returns what an attribute declares; no kernel enforces it."""
    DRAWS = "draws"
    """The op is stateful because it draws random numbers; the shape follows from the inputs."""
    NOT_CONSTANT = "not_constant"
    """The output is no function of the inputs alone, though the op is not stateful."""
    SPARSE_VALUES = "sparse_values"
    """Zero stays zero, so that the function of a sparse tensor is that of its values."""

    REARRANGES = "rearranges"
    """The op makes, joins, cuts, indexes or describes tensors; it computes no new numbers."""
    LOADS = "loads"
    """The output comes from a file or an iterator."""

    # -- effects of a running node that others see

    UNSEEN_STATE = "unseen_state"
    """The op is stateful, but only reads state or changes state that no other node reads."""
    CANNOT_FAIL = "cannot_fail"
    """The node has no effect besides its output and cannot fail: unused, it need not run."""
    INPUT_GRADIENT = "input_gradient"
    """The op computes the gradient of one input; unused, it need not run."""
    MARKED_GRADIENT = "marked_gradient"
    """As INPUT_GRADIENT, if the attribute grad_a, grad_b, grad_x or grad_y says so."""
    REPORTS = "reports"
    """The op checks or prints its input for debugging and passes it on, or has no output."""
    PATH_OPTIONAL = "path_optional"
    """An empty path means that the op touches no file."""
    CHECKPOINT = "checkpoint"
    """The op saves variables to files or restores them."""

    # -- variables and placeholders

    VARIABLE = "variable"
    """The op outputs a variable of the session: a reference or a handle."""
    PLACEHOLDER = "placeholder"
    """The op stands for a tensor that can be fed."""
    MUST_BE_FED = "must_be_fed"
    """A placeholder without a default: it fails if it is not fed."""
    NEEDS_NO_VALUE = "needs_no_value"
    """The op works on the handle of a variable that has no value yet."""
    READS_VARIABLE = "reads_variable"
    """The op reads the variable of its resource input and does not change it."""
    WRITES_VARIABLE = "writes_variable"
    """The op changes the variable of its first input."""
    KEEPS_REFERENCE = "keeps_reference"
    """The op takes a reference to a variable and does not write to it."""

    # -- queues, barriers, accumulators

    PUTS_ELEMENTS = "puts_elements"
    """The op puts elements into a queue or barrier; it waits for room."""
    TAKES_ELEMENTS = "takes_elements"
    """The op takes elements out of a queue or barrier; it waits for elements."""
    APPLIES_GRADIENTS = "applies_gradients"
    """The op adds a gradient to an accumulator."""
    TAKES_GRADIENTS = "takes_gradients"
    """The op takes the mean gradient out of an accumulator; it waits for gradients."""
    CLOSES = "closes"
    """The op closes a queue or barrier, which ends the waiting of other nodes."""

    COLLECTIVE = "collective"
    """The op exchanges tensors with ops of the same instance on other devices."""

    KEEPS_STATE = "keeps_state"
    """The op works on state that no resource or reference in its signature shows."""

    # -- kernels

    PRODUCT = "product"
    """A matrix product or convolution: slow where the weights are large."""
    LAUNCHES = "launches"
    """On a GPU the kernel only launches or makes views: it reads no device value on the host."""
    USES_FRAME = "uses_frame"
    """The kernel uses the id of its frame."""


@cache
def parse_traits(text: str) -> frozenset[Trait]:
    """Parse the traits of an op, separated by spaces.

    >>> sorted(trait.name for trait in parse_traits("product c_order"))
    ['C_ORDER', 'PRODUCT']

    Raises:
      ValueError: a word is no trait.
    """
    return frozenset(Trait(word) for word in text.split())
