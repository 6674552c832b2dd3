"""Store TensorFlow's answers to the op samples: tests/golden/ops_<family>.bin.

    python scripts/oracle/ops_samples.py [family ...]        needs TensorFlow

For every row of tests/ops/*/samples_<family>.py the op alone is built four times and run twice:

* inputs as constants: the static shapes TensorFlow infers, or its error while building;
* inputs as placeholders of known shape: static shapes again;
* inputs as placeholders of unknown shape: static shapes, and then the run gives the values or the
  run-time error;
* gradients: tf.gradients of all differentiable outputs, with fixed incoming gradients.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import op_def_registry

from tests.ops import samples
from tests.ops.golden import GoldenWriter, upstream_gradient

tf.disable_v2_behavior()


class Harness:
    """One graph holding the op under test, its inputs made in one of three ways."""

    def __init__(self, sample: samples.Sample, mode: str) -> None:
        self.sample = sample
        self.mode = mode
        self.op_def = op_def_registry.get(sample.op)
        if self.op_def is None:
            raise ValueError(f"TensorFlow has no op {sample.op}")
        self.feeds: dict[Any, Any] = {}
        self.variables: list[Any] = []
        self.initializers: list[Any] = []
        self.dense_inputs: list[Any] = []
        self.attrs = self._attrs()
        inputs: list[Any] = []
        if len(sample.inputs) != len(self.op_def.input_arg):
            raise ValueError(f"{sample.op} takes {len(self.op_def.input_arg)} inputs")
        for arg, entry in zip(self.op_def.input_arg, sample.inputs, strict=True):
            if isinstance(entry, list):
                types = self._list_types(arg, entry)
                made = [self._tensor(v, t) for v, t in zip(entry, types, strict=True)]
                inputs.extend(made)
            elif isinstance(entry, samples.Resource):
                made = [self._resource(entry)]
                inputs.extend(made)
            elif arg.is_ref:
                made = [self._reference(entry, self._type(arg))]
                inputs.extend(made)
            else:
                made = [self._tensor(entry, self._type(arg))]
                inputs.extend(made)
            self._infer(arg, made)
        self.op = tf.get_default_graph()._create_op_internal(
            sample.op, inputs, name="op_under_test", attrs=self._attr_values(), op_def=self.op_def
        )

    def _attrs(self) -> dict[str, Any]:
        kinds = {attr.name: attr.type for attr in self.op_def.attr}
        attrs: dict[str, Any] = {}
        for name, value in self.sample.attrs.items():
            kind = kinds[name]
            if kind == "type":
                value = tf.as_dtype(value)
            elif kind == "list(type)":
                value = [tf.as_dtype(item) for item in value]
            attrs[name] = value
        if self.sample.types:
            for arg in self.op_def.input_arg:
                if arg.type_attr and arg.type_attr not in attrs and self._swept(arg):
                    attrs[arg.type_attr] = tf.as_dtype(self.sample.types)
                    break
        return attrs

    def _infer(self, arg: Any, made: list[Any]) -> None:
        if arg.number_attr:
            self.attrs.setdefault(arg.number_attr, len(made))
        if arg.type_list_attr:
            self.attrs.setdefault(arg.type_list_attr, [t.dtype.base_dtype for t in made])
        if arg.type_attr and made:
            self.attrs.setdefault(arg.type_attr, made[0].dtype.base_dtype)

    def _attr_values(self) -> dict[str, Any]:
        found = {}
        for attr in self.op_def.attr:
            if attr.name in self.attrs:
                found[attr.name] = attr_value(attr.type, self.attrs[attr.name])
            elif attr.HasField("default_value"):
                found[attr.name] = attr.default_value
        return found

    def _swept(self, arg: Any) -> bool:
        index = list(self.op_def.input_arg).index(arg)
        entry = self.sample.inputs[index]
        entry = entry[0] if isinstance(entry, list) and entry else entry
        target = np.dtype(samples.NUMPY_TYPES[self.sample.types])
        return isinstance(entry, np.ndarray) and entry.dtype == target

    def _type(self, arg: Any) -> Any:
        if arg.type:
            return tf.as_dtype(arg.type)
        return self.attrs.get(arg.type_attr)

    def _list_types(self, arg: Any, entry: list[Any]) -> list[Any]:
        if arg.type_list_attr:
            return list(self.attrs.get(arg.type_list_attr, [None] * len(entry)))
        return [self._type(arg)] * len(entry)

    def _tensor(self, value: Any, dtype: Any) -> Any:
        dtype = dtype or tf.as_dtype(value.dtype)
        if dtype == tf.string:
            value = np.asarray(value, object)
        if self.mode == "const" and not dtype.is_quantized:
            tensor = tf.constant(value, dtype)
        else:
            shape = None if self.mode == "unknown" else value.shape
            tensor = tf.placeholder(dtype, shape)
            self.feeds[tensor] = value
        self.dense_inputs.append(tensor)
        return tensor

    def _reference(self, entry: Any, dtype: Any) -> Any:
        if isinstance(entry, samples.Uninitialized):
            return tf.raw_ops.VariableV2(shape=entry.shape, dtype=tf.as_dtype(entry.dtype))
        dtype = dtype or tf.as_dtype(entry.dtype)
        raw = tf.raw_ops.VariableV2(shape=entry.shape, dtype=dtype)
        self.initializers.append(tf.raw_ops.Assign(ref=raw, value=tf.constant(entry, dtype)).op)
        self.variables.append(raw)
        return raw

    def _resource(self, entry: samples.Resource) -> Any:
        dtype = tf.as_dtype(entry.dtype if entry.value is None else entry.value.dtype)
        shape = None if entry.value is None else entry.value.shape
        handle = tf.raw_ops.VarHandleOp(
            dtype=dtype, shape=tf.TensorShape(shape), shared_name=f"variable_{len(self.variables)}"
        )
        if entry.value is not None:
            self.initializers.append(
                tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(entry.value, dtype))
            )
            self.variables.append(handle)
        return handle

    def read_variables(self) -> list[Any]:
        """Return tensors that read the current values of the variables."""
        reads = []
        for variable in self.variables:
            if variable.dtype == tf.resource:
                handle_op = variable.op
                reads.append(
                    tf.raw_ops.ReadVariableOp(resource=variable, dtype=handle_op.get_attr("dtype"))
                )
            else:
                reads.append(tf.raw_ops.Identity(input=variable))
        return reads


def attr_value(kind: str, value: Any) -> Any:
    """Return a Python value as an AttrValue message."""
    message = attr_value_pb2.AttrValue()
    if kind.startswith("list("):
        message.list.SetInParent()
        for item in value:
            one = attr_value(kind[5:-1], item)
            field = one.WhichOneof("value")
            target = getattr(message.list, field)
            if field in ("shape", "tensor", "func"):
                target.add().CopyFrom(getattr(one, field))
            else:
                target.append(getattr(one, field))
        return message
    if kind == "type":
        message.type = tf.as_dtype(value).as_datatype_enum
    elif kind == "string":
        message.s = tf.compat.as_bytes(value)
    elif kind == "shape":
        message.shape.CopyFrom(tf.TensorShape(value).as_proto())
    elif kind == "tensor":
        message.tensor.CopyFrom(tf.make_tensor_proto(value))
    elif kind == "func":
        message.func.name = value
    elif kind == "int":
        message.i = value
    elif kind == "float":
        message.f = value
    else:
        message.b = value
    return message


def static_shapes(op: Any) -> list[Any]:
    """Return the shapes of the op's outputs: lists with None, or None for an unknown rank."""
    return [None if out.shape.rank is None else out.shape.as_list() for out in op.outputs]


def session() -> Any:
    """Return a session whose optimizer leaves the op alone."""
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return tf.Session(config=config)


def message_of(error: Any) -> str:
    """Return the sentence of a run-time error without the report of where the node was made."""
    text = error.message.split("\n\nOriginal")[0].split("Errors may have originated")[0]
    return text.split("Node: 'op_under_test'\n")[-1].removesuffix(
        "\n\t [[{{node op_under_test}}]]"
    )[:400]


def comparable(value: Any) -> bool:
    """Return whether the value can be stored."""
    return isinstance(value, (np.ndarray, np.generic, bytes))


def run(sample: samples.Sample, answer: dict[str, Any]) -> None:
    """Fill in values and the variables' values, or the run-time error."""
    with tf.Graph().as_default():
        try:
            harness = Harness(sample, "unknown")
        except (ValueError, TypeError, tf.errors.OpError) as error:
            answer["build_error_unknown"] = [type(error).__name__, str(error)]
            return
        answer["shapes_unknown"] = static_shapes(harness.op)
        answer["dtypes"] = [out.dtype.name for out in harness.op.outputs]
        reads = harness.read_variables()
        with session() as sess:
            fetches = [o for o in harness.op.outputs if o.dtype not in (tf.resource, tf.variant)]
            try:
                sess.run(harness.initializers)
                values = sess.run([fetches, harness.op], harness.feeds)[0]
            except tf.errors.OpError as error:
                text = message_of(error)
                if text.startswith("No OpKernel was registered"):
                    answer["no_kernel"] = True
                else:
                    answer["error"] = [type(error).__name__, text]
                    with contextlib.suppress(tf.errors.OpError):
                        answer["variables"] = [as_array(v) for v in sess.run(reads)]
                return
            answer["values"] = [as_array(v) if comparable(v) else None for v in values]
            answer["variables"] = [as_array(v) for v in sess.run(reads)]


def build(sample: samples.Sample, answer: dict[str, Any], mode: str) -> None:
    """Fill in the static shapes for one way of making the inputs."""
    with tf.Graph().as_default():
        try:
            answer[f"shapes_{mode}"] = static_shapes(Harness(sample, mode).op)
        except (ValueError, TypeError, tf.errors.OpError) as error:
            answer[f"build_error_{mode}"] = [type(error).__name__, str(error)[:600]]


def gradients(sample: samples.Sample, answer: dict[str, Any]) -> None:
    """Fill in tf.gradients of the outputs by the inputs; None where TensorFlow says None."""
    with tf.Graph().as_default():
        harness = Harness(sample, "known")
        if not sample.values:
            return
        outputs = [o for o in harness.op.outputs if o.dtype.is_floating or o.dtype.is_complex]
        inputs = [i for i in harness.dense_inputs if i.dtype.is_floating or i.dtype.is_complex]
        if not outputs or not inputs or harness.variables:
            return
        positions = [list(harness.op.outputs).index(o) for o in outputs]
        upstream = [upstream_gradient(answer["values"][p], p) for p in positions]
        try:
            grads = tf.gradients(outputs, inputs, [tf.constant(u) for u in upstream])
        except (LookupError, TypeError, ValueError, NotImplementedError) as error:
            answer["gradient_error"] = [type(error).__name__, str(error)[:300]]
            return
        dense = [None if g is None else tf.convert_to_tensor(g) for g in grads]
        with session() as sess:
            try:
                values = iter(sess.run([d for d in dense if d is not None], harness.feeds))
            except tf.errors.OpError as error:
                answer["gradient_error"] = [type(error).__name__, error.message[:300]]
                return
            answer["gradients"] = [None if d is None else np.asarray(next(values)) for d in dense]


def as_array(value: Any) -> Any:
    """Return a fetched value as an array; a string keeps the zero bytes at its end.

    NumPy's byte strings drop these.
    """
    return np.asarray(value, object if isinstance(value, bytes) else None)


def main(names: list[str]) -> None:
    """Run every row of the named families with TensorFlow."""
    for name in names or samples.families():
        writer = GoldenWriter(samples.GOLDEN / f"ops_{name}.bin")
        rows = samples.family(name)
        for sample in rows:
            answer: dict[str, Any] = {}
            run(sample, answer)
            build(sample, answer, "known")
            build(sample, answer, "const")
            if sample.gradient and "values" in answer and "shapes_known" in answer:
                gradients(sample, answer)
            if "no_kernel" in answer:
                sys.stdout.write(f"{sample.key()}: no kernel in TensorFlow\n")
            failed = answer.get("error") or answer.get("build_error_unknown")
            if failed and sample.error is None:
                sys.stdout.write(f"{sample.key()}: TensorFlow fails: {failed}\n")
            if not failed and sample.error is not None and "build_error_const" not in answer:
                sys.stdout.write(f"{sample.key()}: TensorFlow does not fail\n")
            if not sample.values and "values" in answer:
                answer["run_shapes"] = [
                    None if v is None else list(v.shape) for v in answer["values"]
                ]
                answer.pop("values", None)
            writer.add(sample.key(), answer)
        writer.close()
        sys.stdout.write(f"{name}: {len(rows)} rows\n")


if __name__ == "__main__":
    main(sys.argv[1:])
