"""The traits of ops agree with their signatures and with each other."""

from __future__ import annotations

import functools
import pathlib
import re

import pytest

import tfnb
from tfnb.core import dtypes, op_registry
from tfnb.core.op_traits import Trait, parse_traits

_ROOMS = pathlib.Path(tfnb.__file__).parent


def _every(trait):
    found = [one for one in op_registry.all_ops().values() if trait in one.traits]
    assert found
    return found


@functools.cache
def _asked():
    """Return the names of traits in all files but that of the traits."""
    rooms = (path for path in _ROOMS.rglob("*.py") if path.name != "op_traits.py")
    return {word for path in rooms for word in re.findall(r"\bTrait\.(\w+)", path.read_text())}


def _takes(definition, *, reference):
    return any(
        arg.is_ref if reference else arg.type is dtypes.resource for arg in definition.op_def.inputs
    )


def _names(definitions):
    return {one.name for one in definitions}


@pytest.mark.parametrize("trait", Trait)
def test_the_ops_with_a_trait_are_those_that_carry_it(trait):
    """The set of a trait holds the registered ops that carry it."""
    assert op_registry.ops_with(trait) == _names(_every(trait))
    for name in op_registry.ops_with(trait):
        assert op_registry.has_trait(name, trait)


@pytest.mark.parametrize("trait", Trait)
def test_a_room_asks_for_each_trait(trait):
    """Each trait is used outside of the file that defines it."""
    assert trait.name in _asked()


def test_an_op_that_writes_a_variable_is_stateful_or_takes_a_reference():
    """An op without state or references cannot write."""
    for one in _every(Trait.WRITES_VARIABLE):
        assert _takes(one, reference=True) or (one.is_stateful and _takes(one, reference=False))


def test_an_op_that_takes_a_reference_to_a_variable_writes_or_keeps_it():
    """References to variables have any type; those to queues and tables are strings."""
    for one in op_registry.all_ops().values():
        inputs = one.op_def.inputs
        if inputs and inputs[0].is_ref and inputs[0].type is None:
            found = one.traits & {Trait.WRITES_VARIABLE, Trait.KEEPS_REFERENCE}
            assert len(found) == 1, one.name


def test_an_op_that_reads_a_variable_takes_its_handle_and_does_not_write_it():
    """Readers and writers of handles are told apart."""
    for one in [*_every(Trait.READS_VARIABLE), *_every(Trait.NEEDS_NO_VALUE)]:
        assert _takes(one, reference=False), one.name
    for one in _every(Trait.READS_VARIABLE):
        assert Trait.WRITES_VARIABLE not in one.traits, one.name


@pytest.mark.parametrize("trait", [Trait.UNSEEN_STATE, Trait.DRAWS])
def test_an_op_whose_state_is_not_seen_is_stateful(trait):
    """The trait qualifies a stateful op."""
    assert all(one.is_stateful for one in _every(trait))


@pytest.mark.parametrize(
    "trait",
    [
        Trait.FORWARDS, Trait.SAME_LAYOUT, Trait.SHAPE_QUERY, Trait.NOT_CONSTANT,
        Trait.SPARSE_VALUES, Trait.CANNOT_FAIL, Trait.INPUT_GRADIENT, Trait.MARKED_GRADIENT,
        Trait.PRODUCT, Trait.LAUNCHES,
    ],
)  # fmt: skip
def test_an_op_that_may_be_left_out_or_moved_keeps_no_state(trait):
    """Optimizers remove, move and fold these ops; only transfers are stateful beside them."""
    stateful = _names(one for one in _every(trait) if one.is_stateful)
    assert stateful <= {"_Arg", "_Recv", "_HostRecv"}


@pytest.mark.parametrize("trait", [Trait.FORWARDS, Trait.SPARSE_VALUES])
def test_an_op_that_gives_its_input_on_has_the_input_as_its_only_tensor(trait):
    """One tensor goes in and one of the same type comes out."""
    for one in _every(trait):
        (arg,), (result,) = one.op_def.inputs, one.op_def.outputs
        assert arg.type_attr == result.type_attr, one.name


@pytest.mark.parametrize("trait", [Trait.VARIABLE, Trait.MUST_BE_FED, Trait.FIXED])
def test_a_source_has_no_inputs(trait):
    """Variables, placeholders and constants stand at the beginning of a graph."""
    for one in _every(trait):
        assert not one.op_def.inputs, one.name
        assert len(one.op_def.outputs) == 1, one.name


@pytest.mark.parametrize(
    "trait",
    [
        Trait.PUTS_ELEMENTS, Trait.TAKES_ELEMENTS, Trait.APPLIES_GRADIENTS, Trait.TAKES_GRADIENTS,
        Trait.CLOSES,
    ],
)  # fmt: skip
def test_an_op_of_a_queue_takes_its_handle_first(trait):
    """The runtime finds the partners of a waiting op by the handle they share."""
    for one in _every(trait):
        handle = one.op_def.inputs[0]
        assert handle.type is dtypes.resource or (handle.is_ref and handle.type is dtypes.string)


def test_traits_that_exclude_each_other():
    """An op waits for one thing, and a placeholder that must be fed is a placeholder."""
    waits = [Trait.PUTS_ELEMENTS, Trait.TAKES_ELEMENTS, Trait.TAKES_GRADIENTS]
    names = [op_registry.ops_with(trait) for trait in waits]
    assert sum(map(len, names)) == len(set().union(*names))
    assert _names(_every(Trait.MUST_BE_FED)) < _names(_every(Trait.PLACEHOLDER))
    assert not op_registry.ops_with(Trait.SAME_LAYOUT) & op_registry.ops_with(Trait.C_ORDER)


def test_a_marked_gradient_has_an_attribute_that_marks_it():
    """Without the attribute the trait would say nothing."""
    for one in _every(Trait.MARKED_GRADIENT):
        names = {attr.name for attr in one.op_def.attrs}
        assert names & {"grad_a", "grad_x"}, one.name
        assert names & {"grad_b", "grad_y"}, one.name


def test_an_op_whose_path_may_be_empty_has_an_effect_on_files():
    """The trait qualifies an effect."""
    assert all(one.effects for one in _every(Trait.PATH_OPTIONAL))


def test_a_word_that_is_no_trait_is_refused():
    """A misspelled trait fails where the op is registered."""
    with pytest.raises(ValueError, match="'forward' is not a valid Trait"):
        parse_traits("forward")


def test_an_op_that_is_taken_out_leaves_the_sets_of_its_traits():
    """Sets follow the registry."""
    try:
        op_registry.register_op("TraitsTest", "x: float -> y: float", traits="forwards")(None)
        assert "TraitsTest" in op_registry.ops_with(Trait.FORWARDS)
    finally:
        op_registry.deregister_op("TraitsTest")
    assert "TraitsTest" not in op_registry.ops_with(Trait.FORWARDS)
    assert not op_registry.has_trait("TraitsTest", Trait.FORWARDS)
