"""Variables whose initial values come from a checkpoint.

``init_from_checkpoint`` replaces the initializers of variables; ``warm_start`` replaces those of
the variables that a regular expression selects.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core.files import file_system
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import device, get_collection
from tfnb.library.training.checkpoint_values import checkpoint_path_of, load_checkpoint
from tfnb.library.training.saveable import op_list_to_dict, saveable_objects_for_op
from tfnb.library.training.trackable import OBJECT_GRAPH_KEY
from tfnb.library.variables.init_ops import Zeros
from tfnb.library.variables.partitioned_variable import PartitionedVariable
from tfnb.library.variables.variable_scope import _get_default_variable_store
from tfnb.library.variables.variables import Variable
from tfnb.ops.array.gather_ops import gather
from tfnb.ops.array.slice_ops import slice as slice_
from tfnb.ops.array.where_ops import where_v2
from tfnb.ops.io import io_ops
from tfnb.proto import saved_object_graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tfnb.framework.tensor_types import Initializer, Nested, PathLike, TensorLike, VariableLike

EXPORTS = {"train": ["VocabInfo", "init_from_checkpoint", "warm_start"]}

_log = logging.getLogger("tensorflow")


class VocabInfo(NamedTuple):
    """The words of the rows (or columns) of a variable, now and in a checkpoint.

    Attributes:
      new_vocab: the file of the current words, one per line.
      new_vocab_size: the number of current words to use.
      num_oov_buckets: the number of rows for other words, after those.
      old_vocab: the file of the words of the checkpoint.
      old_vocab_size: the number of words of the checkpoint to use; -1 for all.
      backup_initializer: the initializer for words that the checkpoint lacks; zeros if None.
      axis: 0 for rows, 1 for columns.
    """

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Initializer = None
    axis: int = 0


def init_from_checkpoint(ckpt_dir_or_file: PathLike, assignment_map: Any) -> None:
    """Make the initializers of variables read a checkpoint.

    Args:
      ckpt_dir_or_file: the checkpoint, or a folder, whose last checkpoint is used.
      assignment_map: names in the checkpoint -> variables, lists of parts, or names of variables;
        ``"scope_in_checkpoint/"`` -> ``"scope/"`` stands for all variables of a scope, and ``"/"``
        for the outermost one.  Also a list of these pairs.

    Raises:
      ValueError: the checkpoint lacks a tensor, or it has another shape.
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    shapes = reader.get_variable_to_shape_map()
    path = checkpoint_path_of(ckpt_dir_or_file) or ""
    pairs = assignment_map.items() if hasattr(assignment_map, "items") else assignment_map
    for name, target in sorted(pairs, key=lambda pair: str(pair[0])):
        variable = _variable_of(target)
        if variable is None:
            _init_scope(ckpt_dir_or_file, path, name, target, shapes)
            continue
        if name not in shapes:
            raise ValueError(
                f"Tensor {name} is not found in {ckpt_dir_or_file} checkpoint {shapes}"
            )
        _check_shape(variable, name, shapes[name])
        _init(variable, path, name)


def _is_variable(value: TensorLike) -> bool:
    return isinstance(value, Variable)


def _variable_of(target: TensorLike) -> Any:
    """Return the variable, or list of parts, for a value of the map; None for a scope."""
    if _is_variable(target):
        return target
    if isinstance(target, PartitionedVariable):
        return list(target)
    if isinstance(target, (list, tuple)) and all(_is_variable(one) for one in target):
        return list(target)
    return _stored_variable(target)


def _stored_variable(name: str) -> Any:
    store = _get_default_variable_store()._vars
    if name in store:
        return store[name]
    parts: list[TensorLike] = []
    while f"{name}/part_{len(parts)}" in store:
        parts.append(store[f"{name}/part_{len(parts)}"])
    return parts or None


def _check_shape(variable: VariableLike, name: str, shape: list[int]) -> None:
    if isinstance(variable, list):
        label = variable[0]._save_slice_info.full_name if variable[0]._save_slice_info else name
        whole = variable[0]._save_slice_info
        own = TensorShape(whole.full_shape) if whole else variable[0].get_shape()
    else:
        label, own = variable.name, variable.get_shape()
    if not own.is_compatible_with(TensorShape(shape)):
        raise ValueError(
            f"Shape of variable {label} ({own}) doesn't match with shape of tensor {name} "
            f"({shape}) from checkpoint reader."
        )


def _init_scope(
    ckpt_dir_or_file: PathLike, path: str, name: str, target: str, shapes: Mapping[str, list[int]]
) -> None:
    scope = target[: target.rindex("/")] if "/" in target else ""
    if not name.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {scope} should map to scope only {name}. Should "
            "be 'scope/': 'other_scope/'."
        )
    inside = {
        variable.partition("/part_")[0]
        for variable in _get_default_variable_store()._vars
        if not scope or variable.startswith(f"{scope}/")
    }
    for variable_name in sorted(inside):
        rest = variable_name[len(scope) :]
        full = rest if target == "/" else rest.removeprefix("/")
        if name != "/":
            full = name + full
        full = full.removesuffix("/")
        if full not in shapes:
            raise ValueError(
                f"Tensor {full} ({variable_name[len(scope) + 1 :]} in {name}) is not found in "
                f"{ckpt_dir_or_file} checkpoint"
            )
        variable = _stored_variable(variable_name)
        _check_shape(variable, full, shapes[full])
        _init(variable, path, full)


def _init(variable: VariableLike, path: str, name: str) -> None:
    """Make the initial value of a variable, or of each of its parts, that of a checkpoint."""
    for part in variable if isinstance(variable, list) else [variable]:
        info = part._save_slice_info if isinstance(variable, list) else None
        _set_initializer(part, path, name, "" if info is None else info.spec)
    _log.debug("Initialize variable %s from checkpoint %s with %s", variable, path, name)


def _set_initializer(variable: VariableLike, path: str, name: str, spec: str) -> None:
    # Only a CPU reads files. The read runs once, so it need not be on the variable's device.
    with device(variable.device), device("/cpu:0"):
        value = io_ops.restore_v2(
            path, [name], [spec], [variable.dtype.base_dtype], name="checkpoint_initializer"
        )[0]
    _start_with(variable, value)


def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, Any] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Make the initializers of some variables read a checkpoint.

    Args:
      ckpt_to_initialize_from: the checkpoint, or a folder, whose last checkpoint is used.
      vars_to_warm_start: a regular expression for names of trainable variables; a list of regular
        expressions for names of all global variables; a list of variables; None for none.
      var_name_to_vocab_info: names of variables -> :class:`VocabInfo`, for those whose rows or
        columns belong to words.
      var_name_to_prev_var_name: names of variables -> names in the checkpoint, where they differ.

    Raises:
      ValueError: the checkpoint lacks a variable, or a name to translate is not used.
    """
    vocabularies = dict(var_name_to_vocab_info or {})
    previous = dict(var_name_to_prev_var_name or {})
    used: set[str] = set()
    mapping: list[tuple[str, Any]] = []
    chosen = _grouped(_chosen_variables(vars_to_warm_start))
    keys = _keys_of_objects(ckpt_to_initialize_from, chosen)
    for name, variable in chosen.items():
        if name in previous:
            used.add(name)
        before = previous.get(name, keys.get(name, name))
        vocabulary = vocabularies.pop(name, None)
        if vocabulary is not None:
            _init_words(ckpt_to_initialize_from, variable, before, vocabulary)
        else:
            mapping.append((before, variable))
    unused = sorted(set(previous) - used)
    if unused:
        raise ValueError(
            "You provided the following variables in var_name_to_prev_var_name that were not "
            f"used: {unused}.  Perhaps you misspelled them?"
        )
    if vocabularies:
        raise ValueError(
            "You provided the following variables in var_name_to_vocab_info that were not used: "
            f"{sorted(vocabularies)}.  Perhaps you misspelled them?"
        )
    init_from_checkpoint(ckpt_to_initialize_from, mapping)


def _chosen_variables(vars_to_warm_start: Any) -> list[Nested]:
    if vars_to_warm_start is None:
        return []
    if isinstance(vars_to_warm_start, str):
        return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=vars_to_warm_start)
    if not isinstance(vars_to_warm_start, list):
        raise ValueError(
            "Only variables, list of variables, list of strings, or string are supported for "
            f"vars_to_warm_start; got {vars_to_warm_start}"
        )
    if all(isinstance(one, str) for one in vars_to_warm_start):
        return [
            variable
            for one in vars_to_warm_start
            for variable in get_collection(GraphKeys.GLOBAL_VARIABLES, scope=one)
        ]
    found: list[Any] = []
    for one in vars_to_warm_start:
        found += list(one) if isinstance(one, PartitionedVariable) else [one]
    return found


def _keys_of_objects(ckpt_dir_or_file: PathLike, names: Iterable[str]) -> dict[str, str]:
    """Return name of a variable -> key in a checkpoint of ``tf.train.Checkpoint``; else {}.

    Raises:
      ValueError: that checkpoint lacks a variable.
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    if not reader.has_tensor(OBJECT_GRAPH_KEY):
        return {}
    text = reader.get_tensor(OBJECT_GRAPH_KEY)
    proto = saved_object_graph_pb2.TrackableObjectGraph.FromString(text)
    found = {one.full_name: one.checkpoint_key for node in proto.nodes for one in node.attributes}
    missing = sorted(set(names) - set(found))
    if missing:
        raise ValueError(
            "Attempting to warm-start from an object-based checkpoint, but found that the "
            "checkpoint did not contain values for all variables. The following variables were "
            f"missing: {missing}"
        )
    return found


def _grouped(variables: list[VariableLike]) -> dict[str, Any]:
    """Return name of the whole -> a variable, or the list of its parts.

    Raises:
      ValueError: a variable was chosen twice.
    """
    found: dict[str, Any] = {}
    for variable in variables:
        info = variable._save_slice_info
        if info is None:
            if variable.op.name in found:
                raise ValueError(f"At least two variables have the same name: {variable.op.name}")
            found[variable.op.name] = variable
        else:
            found.setdefault(info.full_name, []).append(variable)
    return found


def _words(path: str, count: int) -> list[bytes]:
    words = file_system.read_file(str(path)).splitlines()
    if count > len(words):
        raise ValueError(f"{path} has {len(words)} words, not {count}")
    return words if count < 0 else words[:count]


def _init_words(
    ckpt_dir_or_file: PathLike, variable: VariableLike, name: str, info: VocabInfo
) -> None:
    """Make the initial rows of a variable those of a checkpoint with the same words."""
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    if name not in shapes:
        raise ValueError(f"Tensor {name} is not found in {ckpt_dir_or_file} checkpoint {shapes}")
    path = checkpoint_path_of(ckpt_dir_or_file) or ""
    places = {word: place for place, word in enumerate(_words(info.old_vocab, info.old_vocab_size))}
    new = _words(info.new_vocab, info.new_vocab_size)
    found = np.array([places.get(word, -1) for word in new] + [-1] * info.num_oov_buckets)
    parts = variable if isinstance(variable, list) else [variable]
    whole = list(shapes[name])
    whole[info.axis] = len(found)
    for part in parts:
        own = part._save_slice_info if isinstance(variable, list) else None
        full_shape = part.shape.as_list() if own is None else list(own.full_shape)
        if full_shape != whole:
            raise ValueError(
                f"Shape of variable {part.name} ({full_shape}) doesn't match {whole}: that of "
                f"tensor {name} with {len(found)} words"
            )
        with device(part.device), device("/cpu:0"):
            dtype = part.dtype.base_dtype
            old = io_ops.restore_v2(path, [name], [""], [dtype], name="checkpoint_initializer")[0]
            old.set_shape(shapes[name])
            taken = gather(old, np.maximum(found, 0), axis=info.axis)
            backup = info.backup_initializer or Zeros()
            rest = convert_to_tensor(backup(whole, dtype=dtype))
            mask = (found >= 0).reshape(
                [-1 if axis == info.axis else 1 for axis in range(len(whole))]
            )
            value = where_v2(mask, taken, rest)
            if own is not None:
                value = slice_(value, own.var_offset, own.var_shape)
        _start_with(part, value)


def _start_with(variable: VariableLike, value: TensorLike) -> None:
    for own_name, op in op_list_to_dict([variable]).items():
        for saveable in saveable_objects_for_op(op, own_name):
            variable._initializer_op = saveable.restore([value], None)
    value.set_shape(variable.shape)
    variable._initial_value = value
