"""Calls of functions made of several ops: their values are compared with TensorFlow's.

A row is an expression over `tf`, `np` and the names in `NAMES`; its result is tensors, in lists or
not, or fetches of a session. TensorFlow's Python reads this file too.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.exact_numbers import RandomNumbers

_RANDOM = RandomNumbers(3)
NAMES: dict[str, Any] = {
    "logits": _RANDOM.randn(5, 4, 6).astype(np.float32),
    "labels": np.array([[1, 2, 2], [3, 3, 3], [4, 0, 0], [0, 0, 0]], np.int32),
    "label_length": np.array([3, 3, 1, 0], np.int32),
    "logit_length": np.array([5, 5, 3, 2], np.int32),
    "square": _RANDOM.randn(2, 3, 3) + 2 * np.eye(3),
    "positive": np.array([[[2.0, 0.5, 0], [0.5, 3, 1], [0, 1, 4]]]),
    "diagonal": _RANDOM.uniform(0.5, 2, (2, 3)),
    "repeats": np.array([[3, 4, 4, 3], [1, 1, 0, 0], [0, 0, 2, 2]], np.int64),
}

_DENSE = "labels=labels, label_length=label_length, logit_length=logit_length"
_SPARSE = (
    "labels=tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [3, 0]], "
    "tf.constant([1, 2, 3, 4, 2]), [4, 2]), label_length=None, logit_length=logit_length"
)
ROWS = [
    *(
        f"with_gradient(lambda x: tf.nn.ctc_loss_v2(logits=x, {_DENSE}{more}), logits)"
        for more in ("", ", blank_index=-1", ", unique=tf.nn.ctc_unique_labels(labels)")
    ),
    *(
        f"with_gradient(lambda x: tf.nn.ctc_loss_v2(logits=x, {_SPARSE}, blank_index={blank}), "
        "logits)"
        for blank in (0, 5, -1)
    ),
    f"tf.nn.ctc_loss_v2(logits=logits.transpose(1, 0, 2), logits_time_major=False, {_DENSE})",
    "tf.nn.ctc_loss_v2(labels=labels, logits=logits, label_length=label_length, "
    "logit_length=np.array([5, 4, 3, 1]))[2:]",
    "tf.nn.ctc_unique_labels(repeats)",
    "tf.nn.ctc_unique_labels(repeats.astype('int32'))",
    "tf.nn.collapse_repeated(repeats, np.array([4, 3, 4]))",
    "tf.nn.collapse_repeated(repeats, np.array([1, 2, 2], np.int32))",
    *(
        f"tf.data.Dataset.{row}"
        for row in (
            "from_tensor_slices(ragged())",
            "from_tensors(ragged()).map(lambda x: x.with_values(x.values * 2))",
            "from_tensor_slices({'a': ragged(), 'b': [1, 2, 3]}).batch(2)",
            "range(3).map(lambda x: tf.ragged.range([x, 2])).batch(2)",
            "from_tensors(tf.ragged.constant([[[1], [2, 3]], [[]]])).unbatch()",
            "from_tensor_slices(ragged()).batch(2).repeat(2).cache()",
            "range(4).map(lambda x: tf.range(x)).ragged_batch(3)",
            "range(4).map(lambda x: {'a': tf.ones([x, 2]), 'b': x}).ragged_batch(3, True)",
            "from_tensors(tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 3])).unbatch()",
            "range(10).batch(4).rebatch(3)",
            "range(10).batch(4).rebatch([1, 2], drop_remainder=True)",
            "range(10).batch(4).rebatch(20)",
            "from_tensor_slices(tf.zeros([5, 2])).batch(2).rebatch(4)",
            "range(5).map(lambda x: tf.range(x)).sparse_batch(2, [6])",
            "range(7).apply(experimental.group_by_reducer(lambda x: x % 3, experimental.Reducer("
            "lambda k: (k * 0, tf.constant(0.0)), lambda s, x: (s[0] + x, s[1] + 1.0), "
            "lambda a, b: (a, b))))",
            "from_tensors({'a': 1.0}).repeat(3).apply(experimental.pad_to_cardinality(5))",
            "range(3).apply(experimental.copy_to_device('/cpu:0'))",
        )
    ),
    "experimental.from_list([(1, 'a'), (2, 'b')])",
    "experimental.from_list([{'x': [1]}, {'x': [2, 3]}])",
    *(
        f"experimental.{row}"
        for row in (
            "CsvDataset(files, [[0], [''], 0.5], header=True)",
            "CsvDataset(files, [tf.constant([7], tf.int64), ['u']], header=True, "
            "select_cols=[0, 1])",
            "CsvDataset(files[0], [[0], [''], 0.5], header=True, na_value='w', field_delim=',')",
            "make_csv_dataset(files, 2, num_epochs=1, shuffle=False)",
            "make_csv_dataset(files, 2, num_epochs=1, shuffle=False, label_name='a', "
            "select_columns=['a', 'c'])",
            "make_csv_dataset(files, 3, shuffle=False).take(3)",
            "make_csv_dataset(files, 2, num_epochs=1, shuffle=False, column_names=['u', 'v', 'w'], "
            "column_defaults=[0.0, 'q', 2.5])",
            "make_csv_dataset(files[0], 2, header=False, num_epochs=1, shuffle=False, "
            "column_names=['u', 'v', 'w'])",
            "SqlDataset('sqlite', database, 'select a, b, c from t order by a', "
            "(tf.int64, tf.string, tf.float64))",
            "SqlDataset('sqlite', database, 'select c > 0 from t order by a', (tf.bool,))",
            "make_batched_features_dataset(examples, 2, features, num_epochs=1, shuffle=False)",
            "make_batched_features_dataset(examples, 2, features, num_epochs=1, shuffle=False, "
            "label_key='i')",
        )
    ),
    *(
        "tf.data.Dataset.from_tensors(['q', 'r', 'zz']).map(experimental.index_table_from_dataset("
        f"tf.data.Dataset.from_tensor_slices(['p', 'q', 'r']){more}).lookup)"
        for more in ("", ", vocab_size=2", ", num_oov_buckets=3")
    ),
    *(
        f"operator_answers(tf.linalg.LinearOperator{text})"
        for text in (
            "FullMatrix(square)",
            "FullMatrix(positive, is_self_adjoint=True, is_positive_definite=True)",
            "LowerTriangular(square)",
            "LowerTriangular(square + 0.5j)",
            "Diag(diagonal)",
            "Diag(diagonal, is_positive_definite=True)",
            "Diag(diagonal * (1 + 2j))",
            "Identity(3, dtype=tf.float64)",
            "Identity(3, batch_shape=[2], dtype=tf.float64)",
            "ScaledIdentity(3, diagonal[:, 0])",
            "ScaledIdentity(3, diagonal[0, 0], is_positive_definite=True)",
            "Householder(diagonal)",
            "Permutation([2, 0, 1], dtype=tf.float64)",
            "Toeplitz(diagonal, diagonal[:, ::-1] + diagonal[:, :1] - diagonal[:, -1:])",
            "Tridiag(square)",
            "Tridiag(np.triu(np.tril(square, 1), -1) + 3 * np.eye(3), diagonals_format='matrix')",
            "Composition([tf.linalg.LinearOperatorFullMatrix(square), "
            "tf.linalg.LinearOperatorDiag(diagonal)])",
            "Adjoint(tf.linalg.LinearOperatorFullMatrix(square + 0.5))",
            "Inversion(tf.linalg.LinearOperatorFullMatrix(square))",
            "BlockDiag([tf.linalg.LinearOperatorFullMatrix(square[..., :2, :2]), "
            "tf.linalg.LinearOperatorIdentity(1, dtype=tf.float64)])",
            "BlockLowerTriangular([[tf.linalg.LinearOperatorFullMatrix(square[:, :2, :2])], "
            "[tf.linalg.LinearOperatorFullMatrix(square[:, 2:, :2]), "
            "tf.linalg.LinearOperatorIdentity(1, dtype=tf.float64)]])",
            "Kronecker([tf.linalg.LinearOperatorFullMatrix(square), "
            "tf.linalg.LinearOperatorIdentity(1, dtype=tf.float64)])",
            "LowRankUpdate(tf.linalg.LinearOperatorDiag(diagonal, is_positive_definite=True), "
            "square[..., :1], diagonal[:, :1], square[..., 1:2])",
        )
    ),
    "tf.linalg.LinearOperatorZeros(2, 3, [4], is_self_adjoint=False, is_square=False).to_dense()",
    "(tf.linalg.LinearOperatorFullMatrix(square) @ tf.linalg.LinearOperatorDiag(diagonal))"
    ".to_dense()",
    "(tf.linalg.LinearOperatorDiag(diagonal) @ tf.linalg.LinearOperatorDiag(diagonal)).to_dense()",
    "tf.linalg.LinearOperatorFullMatrix(square).solve(tf.linalg.LinearOperatorDiag(diagonal))"
    ".to_dense()",
    "tf.linalg.LinearOperatorFullMatrix(square[..., :2]).matmul(square[..., :2, :])",
    "tf.linalg.LinearOperatorFullMatrix(square[..., :2]).solve(square)",
    "tf.linalg.LinearOperatorFullMatrix(square[..., :2]).determinant()",
    "tf.linalg.LinearOperatorFullMatrix(square, is_non_singular=False, is_positive_definite=True)",
    "tf.linalg.LinearOperatorFullMatrix(square).eigvals()",
    "tf.linalg.LinearOperatorFullMatrix(square).cholesky()",
    "tf.linalg.LinearOperatorFullMatrix(square).matmul(square[:, :2])",
    "tf.linalg.LinearOperatorFullMatrix(square).assert_self_adjoint()",
    "tf.linalg.LinearOperatorFullMatrix(np.ones([2, 2])).assert_non_singular()",
    "tf.linalg.LinearOperatorFullMatrix(-positive, is_self_adjoint=True)"
    ".assert_positive_definite()",
    *(
        f"tf.random.Generator.from_seed(7).{row}"
        for row in (
            "state",
            "normal([3])",
            "normal([2, 2], 1.0, 3.0, tf.float64)",
            "truncated_normal([3], stddev=2.0)",
            "uniform([3])",
            "uniform([3], -1.0, 5.0, tf.float64)",
            "uniform([3], maxval=10, dtype=tf.int32)",
            "uniform([3], minval=None, dtype=tf.int32)",
            "uniform([3], dtype=tf.int64)",
            "uniform_full_int([3])",
            "binomial([3], [10.0, 20, 30], [0.5, 0.2, 0.1])",
            "make_seeds(2)",
            "key",
        )
    ),
    "tf.random.Generator.from_seed(7, alg='threefry').state",
    "tf.random.Generator.from_seed(tf.constant(7)).state",
    "tf.random.Generator.from_seed([3, 4]).normal([2])",
    "tf.random.Generator.from_seed(-3).normal([2])",
    "tf.random.Generator.from_key_counter(5, [1, 2], 'philox').state",
    "tf.random.Generator.from_state([5, 0, 9], 1).normal([4])",
    "tf.random.create_rng_state(2**70, 1)",
    "in_turn(lambda g: g.normal([3]), lambda g: g.uniform([2]), lambda g: g.skip(5))",
    *(
        f"(lambda r, f, rr, s, rid: {row})(*raggeds())"
        for row in (
            "tf.where(r>2)",
            "tf.where(tf.constant([True,False,True]), r, r*10)",
            "tf.where(r>2, r, -r)",
            "tf.tile(r,[2,1])",
            "tf.tile(r,[1,2])",
            "tf.tile(r,[2,3])",
            "tf.tile(rr,[1,2,2])",
            "tf.reverse(r,[0])",
            "tf.reverse(r,[1])",
            "tf.reverse(r,axis=[0,1])",
            "tf.reverse(rr,[1])",
            "tf.squeeze(tf.expand_dims(r,0),[0])",
            "tf.squeeze(tf.expand_dims(r,1),[1])",
            "tf.squeeze(tf.expand_dims(r,2),[2])",
            "tf.one_hot(r,6)",
            "tf.one_hot(r,6,axis=-1)",
            "tf.math.unsorted_segment_sum(r,rid,3)",
            "tf.math.unsorted_segment_max(r,rid,3)",
            "tf.math.unsorted_segment_mean(f,rid,3)",
            "tf.gather_nd(r,[[0],[2]])",
            "tf.gather_nd(r,[[0,1],[2,2]])",
            "tf.gather_nd(tf.constant([[1,2],[3,4]]),tf.ragged.constant([[[0,1]],[[1,1],[0,0]]],ragged_rank=1))",
            "tf.batch_gather(r,tf.ragged.constant([[1,0],[],[2]]))",
            "tf.nn.dropout(f,rate=0.0)",
            "tf.math.reduce_std(f,axis=1)",
            "tf.math.reduce_variance(f,axis=1)",
            "tf.add_n([r,r,r])",
            "tf.strings.join([s,s],'-')",
            "tf.strings.reduce_join(s,axis=1,separator='+')",
            "tf.strings.reduce_join(s,axis=0)",
            "tf.nn.silu(f)",
            "tf.math.zeta(f+2.0,f+1.0)",
            "tf.dynamic_partition(r,[0,1,0],2)",
            "tf.dynamic_partition(r,tf.ragged.constant([[0,1],[],[1,0,1]]),2)",
            "tf.split(r,[1,2])",
            "tf.reshape(r,[5])",
            "tf.reshape(r,[-1])",
            "tf.math.sigmoid(f)",
            "tf.math.bincount(r)",
            "tf.clip_by_value(f,1.,2.)",
            "tf.math.scalar_mul(3,r)",
            "tf.bitwise.invert(r)",
            "tf.bitwise.bitwise_and(r,r)",
            "tf.bitwise.left_shift(r,r)",
            "tf.debugging.check_numerics(f,'x')",
            "tf.dtypes.saturate_cast(f,tf.int32)",
            "tf.math.special.dawsn(f)",
            "tf.math.bessel_i0(f)",
            "tf.math.multiply_no_nan(f,f)",
            "tf.math.xlog1py(f,f)",
            "tf.math.ndtri(f/10)",
            "tf.math.erfinv(f/10)",
            "tf.reduce_logsumexp(f,axis=1)",
            "tf.io.decode_compressed(s)",
            "tf.strings.length(s)",
            "tf.expand_dims(r,-1)",
            "tf.rank(rr)",
            "tf.concat([r,r],1)",
            "tf.ragged.stack([r,r])",
            "tf.ragged.cross([s,s])",
            "tf.ragged.cross_hashed([s,s],num_buckets=10)",
            "tf.where(r > 2, r, None)",
            "tf.squeeze(r)",
            "tf.one_hot(r, 6, axis=0)",
            "tf.sort(r)",
        )
    ),
    "with_gradient(lambda x: tf.nn.approx_max_k(x, 3)[0], logits)",
    "tf.math.approx_max_k(np.float32([[3, 1, 2, 5, 5, 4]]), 3)",
    "tf.nn.approx_max_k(logits, 9)",
]


def values(tf: Any, rows: list[str]) -> dict[str, Any]:
    """Return the arrays of each row by "<row>:<number>"; for a dataset, its elements."""
    with tempfile.TemporaryDirectory() as folder:
        return _values(tf, rows, _files(tf, Path(folder)))


def _values(tf: Any, rows: list[str], files: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def with_gradient(function: Any, x: Any) -> Any:
        tensor = tf.constant(x)
        y = function(tensor)
        return y, tf.gradients(y, tensor)

    def operator_answers(operator: Any) -> Any:
        """Return the results of all methods of an operator with three rows."""
        x = tf.cast(NAMES["square"][..., :2], operator.dtype)
        given = [
            operator.to_dense(),
            operator.matmul(x),
            operator.matmul(x, adjoint=True),
            operator.matmul(tf.transpose(x, [0, 2, 1]), adjoint_arg=True),
            operator.matvec(x[..., 0]),
            operator.solve(x),
            operator.solve(x, adjoint=True),
            operator.solvevec(x[..., 0]),
            operator.determinant(),
            operator.log_abs_determinant(),
            operator.trace(),
            operator.diag_part(),
            operator.add_to_tensor(tf.cast(NAMES["square"], operator.dtype)),
            operator.shape_tensor(),
            operator.batch_shape_tensor(),
            operator.tensor_rank_tensor(),
            operator.domain_dimension_tensor(),
            operator.H.to_dense(),
            operator.cond(),
            operator.inverse().to_dense(),
            operator.inverse().matmul(x),
            tf.constant(
                [
                    str(operator.shape),
                    str(operator.is_square),
                    str(operator.is_self_adjoint),
                    str(operator.is_positive_definite),
                ]
            ),
            operator.assert_non_singular(),
        ]
        if operator.is_self_adjoint:
            given += [operator.eigvals(), operator.assert_self_adjoint()]
        if operator.is_self_adjoint and operator.is_positive_definite:
            given += [operator.cholesky().to_dense(), operator.assert_positive_definite()]
        return [one for one in given if one is not None]

    def in_turn(*draws: Any) -> Any:
        """Return the results of successive draws of one generator."""
        generator = tf.random.Generator.from_seed(1)
        found: list[Any] = []
        for draw in draws * 2:
            with tf.control_dependencies(found[-1:]):
                found.append(draw(generator))
        with tf.control_dependencies(found):
            return [*found, generator.state.read_value()]

    def raggeds() -> Any:
        """Return numbers, fractions, two ragged dimensions, texts, and numbers of segments."""
        r = tf.ragged.constant([[1, 2], [], [3, 4, 5]])
        return (
            r,
            tf.cast(r, tf.float32) + 0.5,
            tf.ragged.constant([[[1], [2, 3]], [], [[4, 5, 6]]]),
            tf.ragged.constant([["a", "b"], [], ["c", "d", "e"]]),
            tf.ragged.constant([[0, 1], [], [1, 2, 0]]),
        )

    functions = {
        "raggeds": raggeds,
        "in_turn": in_turn,
        "operator_answers": operator_answers,
        "with_gradient": with_gradient,
        "ragged": lambda: tf.ragged.constant([[1, 2], [], [3, 4, 5]]),
        "experimental": tf.data.experimental,
        "features": {"i": tf.FixedLenFeature([], tf.int64), "s": tf.VarLenFeature(tf.string)},
    }
    for row in rows:
        names = {"tf": tf, "np": np, **functions, **files, **NAMES}
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(5)
            try:
                given = _given(tf, session, eval(row, names))
            except (tf.OpError, ValueError, TypeError, NotImplementedError) as error:
                given = [type(error).__name__]
        for index, value in enumerate(_flat(given)):
            array = np.asarray(value)
            array = array.astype(np.bytes_) if array.dtype == object else array
            found[f"{row}:{index}"] = array
    return found


def _given(tf: Any, session: Any, built: Any) -> Any:
    """Return the values of what was built; for a dataset, its first elements."""
    if not hasattr(built, "element_spec"):
        session.run(tf.global_variables_initializer())
        return session.run(built)
    iterator = tf.data.make_initializable_iterator(built)
    following = iterator.get_next()
    session.run([tf.tables_initializer(), iterator.initializer])
    given = []
    with contextlib.suppress(tf.errors.OutOfRangeError):
        while len(given) < 20:
            given.append(session.run(following))
    return given


def _files(tf: Any, folder: Path) -> dict[str, Any]:
    """Write files that rows read."""
    first, second = folder / "a.csv", folder / "b.csv"
    first.write_text('a,b,c\n1,x,2.5\n3,"y,\nz",\n,w,4\n')
    second.write_text('a,b,c\n7,"q""q",1\n99999999999,,2\n')
    database = folder / "database"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("create table t(a int, b text, c real)")
        connection.executemany("insert into t values(?, ?, ?)", [(1, "x", 2.5), (2, None, None)])
        connection.commit()
    with tf.python_io.TFRecordWriter(str(folder / "examples")) as writer:
        for number in range(3):
            example = tf.train.Example()
            example.features.feature["i"].int64_list.value.append(number)
            example.features.feature["s"].bytes_list.value.extend([b"v"] * number)
            writer.write(example.SerializeToString())
    return {
        "files": [str(first), str(second)],
        "database": str(database),
        "examples": str(folder / "examples"),
    }


def _flat(value: Any) -> list[Any]:
    if hasattr(value, "row_splits"):
        return [*_flat(value.values), value.row_splits]
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, list | tuple):
        return [one for part in value for one in _flat(part)]
    return [value]
