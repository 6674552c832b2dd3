"""The kind of an op, which a picture shows by shape and colour."""

from __future__ import annotations

KINDS = ("input", "constant", "state", "math", "array", "control", "transfer", "other")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONTROL = _names(
    """
    Switch RefSwitch Merge RefMerge Enter RefEnter Exit RefExit NextIteration
    RefNextIteration LoopCond ControlTrigger NoOp Abort If StatelessIf While
    StatelessWhile Case StatelessCase PartitionedCall StatefulPartitionedCall
    SymbolicGradient RemoteCall For Assert
    """
)
_TRANSFER = _names(
    """
    _Send _Recv _HostSend _HostRecv _Retval _DeviceRetval
    """
)
_INPUT = _names(
    """
    Placeholder PlaceholderV2 PlaceholderWithDefault _Arg _DeviceArg IteratorGetNext
    ReadFile WholeFileReader ImmutableConst RestoreV2 Restore
    """
)
_CONSTANT = _names(
    """
    Const HostConst
    """
)
_STATE_STARTS = (
    "Variable",
    "VarHandle",
    "VarIsInitialized",
    "ReadVariable",
    "Assign",
    "Apply",
    "ResourceApply",
    "ResourceSparse",
    "ResourceScatter",
    "ResourceGather",
    "Scatter",
    "SparseApply",
    "TensorArray",
    "Stack",
    "Queue",
    "FIFOQueue",
    "PaddingFIFOQueue",
    "RandomShuffleQueue",
    "PriorityQueue",
    "Barrier",
    "HashTable",
    "MutableHashTable",
    "LookupTable",
    "InitializeTable",
    "Iterator",
    "MakeIterator",
    "Stage",
    "Unstage",
    "Mutex",
    "CountUpTo",
    "TemporaryVariable",
    "DestroyTemporaryVariable",
    "IsVariableInitialized",
    "Save",
    "ShardedFilename",
    "MergeV2Checkpoints",
    "AccumulatorApply",
    "ConditionalAccumulator",
)
_ARRAY = _names(
    """
    Identity IdentityN RefIdentity Reshape ExpandDims Squeeze Transpose ConjugateTranspose
    Concat ConcatV2 ConcatOffset Split SplitV Pack Unpack Slice StridedSlice
    StridedSliceGrad Gather GatherV2 GatherNd ScatterNd Pad PadV2 MirrorPad MirrorPadGrad
    Tile Fill ZerosLike OnesLike Shape ShapeN Size Rank Range Reverse ReverseV2
    ReverseSequence Where OneHot Cast Bitcast InvertPermutation Unique UniqueWithCounts
    DynamicPartition DynamicStitch ParallelDynamicStitch BroadcastTo BroadcastArgs
    BroadcastGradientArgs MatrixDiag MatrixDiagPart MatrixBandPart MatrixSetDiag Diag
    DiagPart SpaceToDepth DepthToSpace SpaceToBatch SpaceToBatchND BatchToSpace
    BatchToSpaceND StopGradient PreventGradient Snapshot DeepCopy Copy CopyHost ListDiff
    ExtractImagePatches Roll Empty EmptyTensorList TensorListStack TensorListReserve
    TensorListSetItem TensorListGetItem TensorListPushBack TensorListPopBack
    TensorListFromTensor Select SelectV2 LinSpace EditDistance SparseToDense EnsureShape
    """
)
_OTHER_STARTS = (
    "Print",
    "Summary",
    "Debug",
    "PyFunc",
    "EagerPyFunc",
    "Decode",
    "Encode",
    "Parse",
    "String",
    "Substr",
    "AsString",
    "Regex",
    "WriteFile",
    "ScalarSummary",
    "HistogramSummary",
    "ImageSummary",
    "MergeSummary",
    "TensorSummary",
    "AudioSummary",
    "Reader",
    "TFRecord",
    "_Feed",
    "_Fetch",
)


def op_kind(op: str) -> str:
    """Return the kind of an op type; unknown ops are ``"math"``, the most common kind.

    >>> op_kind("MatMul"), op_kind("Const"), op_kind("Switch"), op_kind("AssignAdd")
    ('math', 'constant', 'control', 'state')
    """
    if op in _CONSTANT:
        return "constant"
    if op in _INPUT:
        return "input"
    if op in _CONTROL:
        return "control"
    if op in _TRANSFER:
        return "transfer"
    if op in _ARRAY:
        return "array"
    if op.startswith(_STATE_STARTS):
        return "state"
    if op.startswith(_OTHER_STARTS) or not op:
        return "other"
    return "math"
