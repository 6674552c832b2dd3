"""Random programs of ops that TensorFlow no longer builds, in graphs of old versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tests.random_programs.programs import Program, array, programs

if TYPE_CHECKING:
    from tests.random_calls.draws import Draw


@programs
def norms(d: Draw, p: Program) -> None:
    """Normalization with given moments, its gradient, and quantized numbers."""
    p.of_version(1)
    word, depth = "float64", d.number(1, 3)
    x = array(d, word, (d.number(1, 2), d.number(1, 3), d.number(1, 3), depth))
    mean, beta, gamma = (array(d, word, (depth,)) for _ in range(3))
    variance = d.positive(word, (depth + d.chance(0.05),))
    attrs = {"variance_epsilon": 0.01, "scale_after_normalization": d.chance(0.5)}
    p.run(p.raw("BatchNormWithGlobalNormalization", t=x, m=mean, v=variance, beta=beta,
                gamma=gamma, **attrs))  # fmt: skip
    p.run(p.raw("BatchNormWithGlobalNormalizationGrad", t=x, m=mean, v=variance, gamma=gamma,
                backprop=array(d, word, x.shape), **attrs))  # fmt: skip
    p.run(p.raw("QuantizeAndDequantize", input=x, num_bits=d.number(2, 9), range_given=True,
                input_min=-1.5, input_max=d.one([1.0, 2.5])))  # fmt: skip


@programs
def variables(d: Draw, p: Program) -> None:
    """References: variables, temporary ones, identities."""
    shape = tuple(d.number(1, 2) for _ in range(d.number(0, 2)))
    word = d.one("float32 int32")
    dtype = tf.as_dtype(word)
    held = p.raw(d.one("Variable VariableV2"), shape=shape, dtype=dtype, shared_name="v",
                 container="")  # fmt: skip
    for _ in range(d.number(2, 6)):
        kind = d.one("assign add sub read identity is count temporary")
        value = array(d, word, shape if d.chance(0.9) else (*shape, 2))
        made: Any = None
        if kind == "assign":
            made = p.raw("Assign", ref=held, value=value, validate_shape=d.chance(0.8))
        elif kind in ("add", "sub"):
            made = p.raw(f"Assign{kind.capitalize()}", ref=held, value=value)
        elif kind == "read":
            made = p.raw("Identity", input=held)
        elif kind == "identity":
            same = p.raw("RefIdentity", input=held)
            made = None if same is None else p.raw("AssignAdd", ref=same, value=value)
        elif kind == "is":
            made = p.raw("IsVariableInitialized", ref=held)
        elif kind == "count" and word == "int32" and shape == ():
            made = p.raw("CountUpTo", ref=held, limit=d.number(0, 4))
        elif kind == "temporary":
            fresh = p.raw("TemporaryVariable", shape=value.shape, dtype=dtype, var_name="t")
            begun = p.raw("Assign", ref=fresh, value=value)
            added = p.raw("AssignAdd", ref=begun, value=value)
            made = p.raw("DestroyTemporaryVariable", ref=added, var_name="t")
        p.run(made)


@programs
def old_stack(d: Draw, p: Program) -> None:
    """A stack by reference lives for one step."""
    p.of_version(12)
    word = d.one("float32 int32")
    dtype = tf.as_dtype(word)
    handle = p.chained("Stack", elem_type=dtype, stack_name="s")
    fetched, height = [], 0
    for _ in range(d.number(1, 6)):
        if d.chance(0.55) or (not height and d.chance(0.9)):
            height += 1
            item = array(d, word, d.shape(0, 1, 2))
            fetched.append(p.chained("StackPush", handle=handle, elem=item, swap_memory=False))
        else:
            height -= 1
            fetched.append(p.chained("StackPop", handle=handle, elem_type=dtype))
    p.run(*[one for one in fetched if one is not None])


@programs
def old_table(d: Draw, p: Program) -> None:
    """Tables by reference."""
    kind = d.one("HashTable MutableHashTable MutableHashTableOfTensors")
    attrs = {"value_shape": [2]} if kind.endswith("Tensors") else {}
    shape = (2,) if attrs else ()
    handle = p.raw(kind, key_dtype=tf.int64, value_dtype=tf.float32, shared_name="t", container="",
                   **attrs)  # fmt: skip

    def keys(count: int) -> Any:
        return d.random.permutation(4)[:count].astype(np.int64)

    for _ in range(d.number(2, 6)):
        action = d.one("insert insert find size export import")
        found, made = keys(d.number(0, 3)), None
        values = array(d, "float32", (len(found), *shape))
        if action == "insert" and kind == "HashTable":
            made = p.raw("InitializeTable", table_handle=handle, keys=found, values=values)
        elif action == "insert":
            made = p.raw("LookupTableInsert", table_handle=handle, keys=found, values=values)
        elif action == "import":
            made = p.raw("LookupTableImport", table_handle=handle, keys=found, values=values)
        elif action == "find":
            made = p.raw("LookupTableFind", table_handle=handle, keys=found,
                         default_value=array(d, "float32", shape))  # fmt: skip
        elif action == "size":
            made = p.raw("LookupTableSize", table_handle=handle)
        else:
            out = p.raw("LookupTableExport", table_handle=handle, Tkeys=tf.int64,
                        Tvalues=tf.float32)  # fmt: skip
            made = None if out is None else p.raw("Size", input=out[0])
        p.run(made)
