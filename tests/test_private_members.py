"""A file uses no private member of another file; members for other files have public names."""

from __future__ import annotations

import functools
from pathlib import Path

from tests.private_members import foreign_private_uses

ROOT = Path(__file__).parents[1]

# Private names of TensorFlow that programs use.
OF_TENSORFLOW = frozenset(
    name
    for names in (
        # graphs
        """
    _nodes_by_name _functions _collections _lock _names_in_use _container _building_function
    _is_function _get_function _add_function _add_op _check_not_finalized
    _attr_scope _attr_scope_map _op_to_kernel_label_map _gradient_override_map
    _gradient_function_map _default_original_op _last_loss_reduction _unsafe_unfinalize
    _create_op_internal _control_dependencies_for_inputs _get_control_flow_context
    _set_control_flow_context _handle_feeders _handle_readers _handle_movers _handle_deleters
    """,
        # operations
        """
    _id _set_attr _set_device _update_input _add_control_input _add_control_inputs _add_outputs
    _add_while_inputs _remove_all_control_inputs _control_flow_context _gradient_function
    _original_op _is_stateful
    """,
        # tensors, dtypes and shapes
        """
    _shape _shape_tuple _handle_data _as_node_def_input _as_ref _indices _values _INTERN_TABLE
    """,
        # contexts of control flow
        """
    _external_values _nested_contexts _infer_shape _dynamic_size
    """,
        # variables, their scopes and collections
        """
    _save_slice_info _set_save_slice_info _get_partitions _graph_element _initial_value
    _initializer_op _lazy_read _read_variable_op _ref _shared_name _strided_slice_assign
    _unique_id _use_resource _vars _SUMMARY_COLLECTION _STREAMING_MODEL_PORTS
    _VARIABLE_COLLECTIONS
    """,
        # data sets, optimizers and layers
        """
    _variant_tensor _name _use_locking _non_slot_dict _trainable_weights _non_trainable_weights
    """,
    )
    for name in names.split()
)
# Names of absl's flags, where each public name may be a flag.
OF_FLAGS = frozenset({"_define", "_parse", "_set_default"})
# Named tuples have no other names for these.
OF_NAMED_TUPLES = frozenset({"_fields", "_make", "_replace"})
# Python, Jupyter and Dask have no public name for these.
OF_OTHERS = frozenset(
    {
        "_Decompress",  # the type of what zlib.decompressobj() gives
        "_SubParsersAction",
        "_actions",
        "_choices_actions",
        "_closed",  # a member of ipykernel's comms
        "_constants",  # a member of re
        "_current_frames",
        "_getframe",
        "_meta",  # the empty frame that a Dask DataFrame is like
        "_parser",
    }
)
ALLOWED = OF_TENSORFLOW | OF_FLAGS | OF_NAMED_TUPLES | OF_OTHERS


@functools.cache
def _uses() -> list[tuple[str, str]]:
    return [
        (use.member, f"{path.relative_to(ROOT)}:{use.line}: {use.owner}.{use.member}")
        for path in sorted((ROOT / "tfnb").rglob("*.py"))
        if not path.name.endswith("_pb2.py")
        for use in foreign_private_uses(path.read_text("utf-8"))
    ]


def test_no_file_uses_a_private_member_of_another_one() -> None:
    """A member for other files has a public name, and a docstring that calls it internal."""
    found = [text for member, text in _uses() if member not in ALLOWED]

    assert not found, "\n".join(
        [
            "Private members of other files:",
            *found,
            "Give the member a public name and a docstring that says who may use it, or move the "
            "code to where the member is.",
        ]
    )


def test_every_allowed_name_is_used() -> None:
    """A name that no file uses must be removed from the lists."""
    assert sorted(ALLOWED - {member for member, _ in _uses()}) == []


def test_a_member_of_the_same_file_is_no_private_use() -> None:
    """Objects of one class may use each other's private members."""
    text = (
        "class A:\n"
        "    def __init__(self):\n"
        "        self._own = 1\n"
        "    def same(self, other):\n"
        "        return self._base == other._own == other._foreign\n"
    )

    assert [(use.line, use.member) for use in foreign_private_uses(text)] == [(5, "_foreign")]
