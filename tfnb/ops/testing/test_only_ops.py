"""TensorFlow's test-only ops: definitions without kernels, for tests of graphs and builders.

They are not part of the vocabulary: :func:`register_test_ops` adds them and can remove them. A
graph of them can be built, written and read, but not run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from tfnb.core import op_registry
from tfnb.core.tensor_shape import TensorShape
from tfnb.core.versions import GRAPH_DEF_VERSION

if TYPE_CHECKING:
    from tfnb.core.shape_inference import InferenceContext

EXPORTS = {"testing": ["register_test_ops"]}

# Name, signature, attributes.
_STATELESS: Final[tuple[tuple[str, ...], ...]] = (
    ("A", "-> out: float"),
    ("Attr", "->", "a: int"),
    ("AttrBool", "->", "a: bool"),
    ("AttrBoolList", "->", "a: list(bool)"),
    ("AttrDefault", "->", "a: string = 'banana'"),
    ("AttrEmptyListDefault", "->", "a: list(float) = []"),
    ("AttrEnum", "->", "a: {'apples', 'oranges'}"),
    ("AttrEnumList", "->", "a: list({'apples', 'oranges'})"),
    ("AttrFloat", "->", "a: float"),
    ("AttrListDefault", "->", "a: list(int) = [5, 15]"),
    ("AttrListMin", "->", "a: list(int) >= 2"),
    ("AttrListTypeDefault", "a: N * T, b: N * T ->", "T: type = DT_INT32", "N: int >= 1"),
    ("AttrMin", "->", "a: int >= 5"),
    ("AttrPartialShape", "->", "a: shape"),
    ("AttrPartialShapeList", "->", "a: list(shape)"),
    ("AttrShape", "->", "a: shape"),
    ("AttrShapeList", "->", "a: list(shape)"),
    ("AttrTypeDefault", "a: T ->", "T: type = DT_INT32"),
    ("B", "-> out: float"),
    ("Binary", "a: T, b: T -> out: T", "T: type"),
    (
        "ComplexStruct",
        "-> a: n_a * int32, b: n_b * int64, c: t_c",
        "n_a: int >= 0",
        "n_b: int >= 0",
        "t_c: list(type) >= 0",
    ),
    ("CopyOp", "a: T -> b: T", "T: type"),
    (
        "DefaultAttrs",
        "->",
        "string_val: string = 'abc'",
        "string_list_val: list(string) = ['abc', '']",
        "int_val: int = 123",
        "int_list_val: list(int) = [1, 2, 3]",
        "float_val: float = 10",
        "float_list_val: list(float) = [10]",
        "bool_val: bool = true",
        "bool_list_val: list(bool) = [true, false]",
        "type_val: type = DT_INT32",
        "type_list_val: list(type) = [DT_INT32, DT_FLOAT]",
        "shape_val: shape = { dim { size: 2 } dim { size: 1 } }",
        "shape_list_val: list(shape) = [{ }, { dim { size: 1 } }]",
        "tensor_val: tensor = { dtype: DT_INT32 tensor_shape { } int_val: 1 }",
        "tensor_list_val: list(tensor) = [{ dtype: DT_INT32 tensor_shape { } int_val: 1 }]",
    ),
    ("FiveFloatOutputs", "-> a: float, b: float, c: float, d: float, e: float"),
    ("FloatInput", "a: float ->"),
    ("FloatOutput", "-> a: float"),
    ("FloatOutputStringOutput", "-> a: float, b: string"),
    ("Foo1", "a: float, b: int32, c: int32 -> d: float, e: int32"),
    ("Foo2", "a: float, b: string, c: string -> d: float, e: int32"),
    ("Foo3", "a: float, b: string, c: float -> d: float, e: int32"),
    ("FuncAttr", "->", "f: func"),
    ("FuncListAttr", "->", "f: list(func)"),
    ("GetDeadline", "-> deadline_from_epoch_micros: int64"),
    (
        "InPolymorphicTwice",
        "a: N * T, b: M * T ->",
        "T: type = DT_INT32",
        "N: int >= 0",
        "M: int >= 0",
    ),
    ("Int64Output", "-> out: int64"),
    ("IntAttr", "-> out: int64", "foo: int = 1"),
    ("IntInput", "a: int32 ->"),
    ("IntInputFloatInput", "a: int32, b: float ->"),
    ("IntInputIntOutput", "a: int32 -> b: int32"),
    ("IntOutput", "-> a: int32"),
    ("IntOutputFloatOutput", "-> a: int32, b: float"),
    ("KernelLabel", "-> result: string"),
    ("KernelLabelRequired", "input: int32 -> result: string"),
    ("ListInput", "a: N * T ->", "N: int >= 1", "T: type"),
    ("ListOutput", "-> a: T", "T: list(type) >= 1"),
    ("MixedStruct", "-> a: n_a * int32, b: float", "n_a: int >= 0"),
    ("NInPolymorphicTwice", "a: N * T, b: N * T ->", "T: type", "N: int >= 0"),
    ("NInTwice", "a: N * int32, b: N * string ->", "N: int >= 0"),
    ("NInTwoTypeVariables", "a: N * S, b: N * T ->", "S: type", "T: type", "N: int >= 0"),
    ("NIntsIn", "a: N * int32 ->", "N: int >= 2"),
    ("NIntsOut", "-> a: N * int32", "N: int >= 2"),
    ("NIntsOutDefault", "-> a: N * int32", "N: int >= 2 = 3"),
    ("NPolymorphicIn", "a: N * T ->", "T: type", "N: int >= 2"),
    ("NPolymorphicOut", "-> a: N * T", "T: type", "N: int >= 2"),
    ("NPolymorphicOutDefault", "-> a: N * T", "T: type = DT_BOOL", "N: int >= 2 = 2"),
    ("NPolymorphicRestrictIn", "a: N * T ->", "T: {string, bool}", "N: int >= 2"),
    ("NPolymorphicRestrictOut", "-> a: N * T", "T: {string, bool}", "N: int >= 2"),
    ("None", "->"),
    ("OpWithDefaultAttr", "-> a: int32", "default_float: float = 123"),
    ("OpWithFutureDefaultAttr", "->"),
    ("OutT", "-> a: T", "T: type"),
    ("OutTypeList", "-> out: T", "T: list(type) >= 0"),
    ("OutTypeListRestrict", "-> out: t", "t: list({string, bool}) >= 1"),
    ("Polymorphic", "a: T -> out: T", "T: type"),
    ("PolymorphicDefaultOut", "-> out: T", "T: type = DT_STRING"),
    ("PolymorphicOut", "-> out: T", "T: type"),
    ("RefIn", "a: Ref(T) ->", "T: type"),
    ("RefInputFloatInput", "a: Ref(float), b: float ->"),
    ("RefInputFloatInputIntOutput", "a: Ref(float), b: float -> c: int32"),
    ("RefInputIntInput", "a: Ref(int32), b: int32 ->"),
    ("RefOut", "-> a: Ref(T)", "T: type"),
    ("RefOutput", "-> a: Ref(int32)"),
    ("RefOutputFloatOutput", "-> a: Ref(float), b: float"),
    ("ReservedAttr", "->", "range: int"),
    ("ReservedInput", "input: int32 ->"),
    ("Restrict", "a: T -> out: T", "T: {string, bool}"),
    ("Simple", "a: int32 -> out: float"),
    ("SimpleStruct", "-> a: n_a * int32", "n_a: int >= 0"),
    ("StringListAttr", "->", "a: list(string)", "b: string"),
    ("TestStringOutput", "input: float -> output1: float, output2: string"),
    ("TwoFloatInputs", "a: float, b: float ->"),
    ("TwoFloatInputsFloatOutput", "a: float, b: float -> c: float"),
    ("TwoFloatInputsIntOutput", "a: float, b: float -> c: int32"),
    ("TwoFloatOutputs", "-> a: float, b: float"),
    ("TwoIntInputs", "a: int32, b: int32 ->"),
    ("TwoIntOutputs", "-> a: int32, b: int32"),
    ("TwoRefsIn", "a: Ref(T), b: Ref(T) ->", "T: type"),
    ("TypeList", "a: T ->", "T: list(type) >= 0"),
    ("TypeListRestrict", "a: T ->", "T: list({string, bool}) >= 1"),
    ("TypeListTwice", "a: T, b: T ->", "T: list(type) >= 0"),
    ("Unary", "a: T -> b: T", "T: type"),
    ("Namespace>TestStringOutput", "input: float -> output1: float, output2: string"),
)

_STATEFUL: Final[tuple[tuple[str, ...], ...]] = (
    ("DevicePlacementOp", "-> device: string"),
    ("DtypeWithDefaultOp", "in: T -> dtype: string", "T: type = DT_UINT8"),
    ("GraphDefVersion", "-> version: int32"),
    ("IsResourceHandleRefCounting", "handle: resource -> result: bool"),
    ("IsTensorFloat32Enabled", "-> enabled: bool"),
    ("MakeWeakResourceHandle", "handle: resource -> dup: resource"),
    ("RequiresOlderGraphVersion", "-> version: int32"),
    ("ResourceCreateOp", "resource: resource ->"),
    ("ResourceInitializedOp", "resource: resource -> initialized: bool"),
    ("ResourceUsingOp", "resource: resource ->"),
    ("SleepIdentityOp", "sleep_seconds: int32, input: T -> output: T", "T: type"),
    ("SleepOp", "sleep_seconds: int32 ->"),
    (
        "StubResourceHandleOp",
        "-> resource: resource",
        "container: string = ''",
        "shared_name: string = ''",
    ),
    ("TestAttr", "-> out: T", "T: {float, double}"),
)


def _shape_of_older_graph(c: InferenceContext) -> TensorShape:
    if c.graph_def_version != GRAPH_DEF_VERSION - 1:
        raise ValueError("Wrong graph version for shape")
    return TensorShape([])


_SHAPES: Final = {"RequiresOlderGraphVersion": _shape_of_older_graph}


class TestOps:
    """The test-only ops that one call registered; at its end, a ``with`` statement removes them.

    ``ops["FloatInput"](1.0)`` builds a node.
    """

    __test__ = False  # not a test class, despite its name

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the ops that were registered."""
        return self._names

    def __getitem__(self, name: str) -> op_registry.OpDefinition:
        return op_registry.get(name)

    def remove(self) -> None:
        """Remove the ops; a second call does nothing."""
        for name in self._names:
            op_registry.deregister_op(name)
        self._names = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


NAMES: Final = (*(name for name, *_ in (*_STATELESS, *_STATEFUL)), "Old")


def register_test_ops() -> TestOps:
    """Register TensorFlow's test-only ops: FloatInput, IntOutput, None, ListInput and others.

    Names that are already registered are not changed.
    """
    added = []
    for rows, stateful in ((_STATELESS, False), (_STATEFUL, True)):
        for name, signature, *specs in rows:
            if op_registry.find(name) is None:
                shape = _SHAPES.get(name)
                op_registry.register_op(name, signature, *specs, stateful=stateful, shape=shape)(
                    None
                )
                added.append(name)
    if op_registry.find("Old") is None:
        op_registry.register_op("Old", "->", deprecated=(8, "For reasons"))(None)
        added.append("Old")
    return TestOps(tuple(added))
