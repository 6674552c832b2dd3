"""Small programs in the manner of well-known code of TensorFlow 1, started by `tfnb run`."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Each program ends with a check of its own; what it prints last is "done".
_FLAGS_AND_QUEUES = """\
import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("steps", 30, "Steps.")
flags.DEFINE_string("folder", "", "Where to write.")
FLAGS = flags.FLAGS


def main(_):
    FLAGS._parse_flags()
    values = np.linspace(-1, 1, 64).astype(np.float)
    x, y = tf.train.slice_input_producer([values, 3 * values], shuffle=True, seed=1)
    x, y = tf.train.batch([x, y], 8)
    w = tf.Variable(tf.truncated_normal([], seed=2, dtype=tf.float64))
    loss = tf.reduce_mean(tf.square(w * x - y))
    tf.scalar_summary("loss", loss)
    summaries = tf.merge_all_summaries()
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.initialize_all_variables())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        writer = tf.train.SummaryWriter(FLAGS.folder, sess.graph)
        for step in range(FLAGS.steps):
            writer.add_summary(sess.run([train, summaries])[1], step)
        coord.request_stop()
        coord.join(threads)
        path = saver.save(sess, FLAGS.folder + "/model", FLAGS.steps)
        found = sess.run(w)
    with tf.Session() as sess:
        saver.restore(sess, tf.train.latest_checkpoint(FLAGS.folder))
        assert sess.run(w) == found and abs(found - 3) < 0.5, found
    print("done")


if __name__ == "__main__":
    tf.app.run()
"""

_TWO_NETWORKS = """\
import numpy as np
import tensorflow as tf
from scipy import misc

tf.set_random_seed(3)
np.random.seed(3)


def generator(z, reuse=False):
    with tf.variable_scope("generator", reuse=reuse):
        h = tf.layers.dense(z, 2 * 2 * 8)
        h = tf.reshape(h, [-1, 2, 2, 8])
        h = tf.nn.relu(tf.contrib.layers.batch_norm(h, is_training=True, scope="bn"))
        return tf.tanh(tf.layers.conv2d_transpose(h, 1, 5, 2, padding="same"))


def discriminator(x, reuse=False):
    with tf.variable_scope("discriminator", reuse=reuse):
        h = tf.nn.leaky_relu(tf.layers.conv2d(x, 8, 5, 2, padding="same"))
        return tf.layers.dense(tf.contrib.layers.flatten(h), 1)


z = tf.placeholder(tf.float32, [None, 6])
real = tf.placeholder(tf.float32, [None, 4, 4, 1])
fake = generator(z)
of_real, of_fake = discriminator(real), discriminator(fake, reuse=True)
mixed = real + tf.random_uniform([tf.shape(real)[0], 1, 1, 1]) * (fake - real)
slope = tf.gradients(discriminator(mixed, reuse=True), mixed)[0]
length = tf.sqrt(tf.reduce_sum(tf.square(slope), [1, 2, 3]) + 1e-8)
d_loss = tf.reduce_mean(of_fake - of_real) + 10 * tf.reduce_mean(tf.square(length - 1))
g_loss = -tf.reduce_mean(of_fake)
names = [v for v in tf.trainable_variables()]
d_train = tf.train.AdamOptimizer(1e-3, 0.5).minimize(
    d_loss, var_list=[v for v in names if v.name.startswith("discriminator")])
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    g_train = tf.train.AdamOptimizer(1e-3, 0.5).minimize(
        g_loss, var_list=[v for v in names if v.name.startswith("generator")])
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(tf.global_variables_initializer())
    feed = {z: np.random.randn(8, 6), real: np.ones([8, 4, 4, 1])}
    for _ in range(4):
        _, before = sess.run([d_train, d_loss], feed)
        sess.run(g_train, feed)
    after, pictures = sess.run([d_loss, fake], feed)
    misc.imsave("made.png", pictures[0, :, :, 0])
assert np.isfinite(after) and misc.imread("made.png").shape == (4, 4)
print("done")
"""

_TRANSLATOR = """\
import numpy as np
import tensorflow as tf
from tensorflow.contrib import seq2seq
from tensorflow.contrib.learn import ModeKeys

tf.set_random_seed(1)


class Model(object):
    def __init__(self, mode, source, target):
        with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            table = tf.get_variable("table", [6, 8])
            inputs = tf.nn.embedding_lookup(table, source)
            memory, state = tf.nn.dynamic_rnn(
                tf.contrib.rnn.GRUCell(8), inputs, dtype=tf.float32, scope="encoder")
            cell = seq2seq.AttentionWrapper(
                tf.contrib.rnn.GRUCell(8), seq2seq.LuongAttention(8, memory, scale=True), 8)
            start = cell.zero_state(2, tf.float32).clone(cell_state=state)
            if mode == ModeKeys.TRAIN:
                helper = seq2seq.TrainingHelper(
                    tf.nn.embedding_lookup(table, target[:, :-1]), [3, 3])
            else:
                helper = seq2seq.GreedyEmbeddingHelper(table, tf.fill([2], 1), 2)
            decoder = seq2seq.BasicDecoder(
                cell, helper, start, tf.layers.Dense(6, use_bias=False, name="output"))
            outputs, _, _ = seq2seq.dynamic_decode(
                decoder, maximum_iterations=4, scope="decoder")
            self.answer = outputs.sample_id
            if mode == ModeKeys.TRAIN:
                self.loss = seq2seq.sequence_loss(
                    outputs.rnn_output, target[:, 1:], tf.ones([2, 3]))


source = tf.constant([[3, 4], [4, 3]])
target = tf.constant([[1, 3, 4, 2], [1, 4, 3, 2]])
train = Model(ModeKeys.TRAIN, source, target)
infer = Model(ModeKeys.INFER, source, target)
step = tf.train.get_or_create_global_step()
op = tf.contrib.layers.optimize_loss(
    train.loss, step, 0.03, "Adam", clip_gradients=5.0, summaries=[])
with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=60)]) as sess:
    first = last = sess.run(op)
    while not sess.should_stop():
        last, answer = sess.run([op, infer.answer])
assert last < first / 3, (first, last)
print("done")
"""

_ACTOR_AND_MEMORY = """\
import collections
import inspect
import numpy as np
import tensorflow as tf
import tensorflow.contrib.layers as layers

assert isinstance([], collections.Sequence) and inspect.getargspec(len)


def network(observations, actions, scope, reuse=False):
    with tf.variable_scope(scope, reuse=reuse):
        hidden = layers.fully_connected(observations, 16, activation_fn=tf.nn.tanh)
        hidden = layers.layer_norm(hidden)
        return layers.fully_connected(hidden, actions, activation_fn=None)


tf.set_random_seed(0)
now = tf.placeholder(tf.float32, [None, 3])
action = tf.placeholder(tf.int32, [None])
reward = tf.placeholder(tf.float32, [None])
q = network(now, 2, "q")
target = network(now, 2, "target")
chosen = tf.reduce_sum(q * tf.one_hot(action, 2), 1)
best = reward + 0.9 * tf.stop_gradient(tf.reduce_max(target, 1))
loss = tf.losses.huber_loss(best, chosen)
optimizer = tf.train.RMSPropOptimizer(0.01)
pairs = optimizer.compute_gradients(loss, tf.trainable_variables("q"))
pairs = [(tf.clip_by_norm(g, 10), v) for g, v in pairs if g is not None]
train = optimizer.apply_gradients(pairs)
copy = tf.group(*[t.assign(v) for t, v in zip(
    sorted(tf.global_variables("target"), key=lambda v: v.name),
    sorted(tf.trainable_variables("q"), key=lambda v: v.name))])
memory = collections.deque(maxlen=100)
random = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(40):
        seen = random.randn(3)
        act = int(np.argmax(sess.run(q, {now: seen[None]})[0])) if step % 3 else step % 2
        memory.append((seen, act, float(act == (seen[0] > 0))))
        rows = [memory[i] for i in random.randint(len(memory), size=16)]
        seen, acts, rewards = [np.array(one, copy=False) for one in zip(*rows)]
        value, _ = sess.run([loss, train], {now: seen, action: acts, reward: rewards})
        if step % 10 == 0:
            sess.run(copy)
assert np.isfinite(value)
print("done")
"""

_SEGMENTS_WITH_MEMORY = """\
import numpy as np
import tensorflow as tf
from absl import flags

flags.DEFINE_integer("d_model", default=8, help="Size.")
flags.DEFINE_integer("steps", default=12, help="Steps.")
FLAGS = flags.FLAGS


def attend(segment, memory):
    both = tf.concat([memory, segment], 0)
    query = tf.layers.dense(segment, FLAGS.d_model, use_bias=False, name="q")
    pair = tf.layers.dense(both, 2 * FLAGS.d_model, use_bias=False, name="kv")
    key, value = tf.split(pair, 2, -1)
    score = tf.einsum("ibd,jbd->ijb", query, key) / FLAGS.d_model ** 0.5
    length, all_length = tf.shape(segment)[0], tf.shape(both)[0]
    mask = tf.matrix_band_part(tf.ones([length, length]), 0, -1)
    mask -= tf.matrix_band_part(mask, 0, 0)
    mask = tf.concat([tf.zeros([length, all_length - length]), mask], 1)[:, :, None]
    weights = tf.nn.softmax(score * (1 - mask) - 1e30 * mask, 1)
    found = tf.einsum("ijb,jbd->ibd", weights, value)
    return tf.contrib.layers.layer_norm(found + segment, begin_norm_axis=-1)


def main(unused):
    del unused
    assert FLAGS.d_model == 16 and tf.flags.FLAGS.steps == 12
    tf.set_random_seed(1)
    words = np.tile(np.arange(4), 40)[:144].reshape(4, 36).T
    data = tf.data.Dataset.from_tensor_slices((words[:-1], words[1:]))
    batch = data.batch(5).repeat().make_one_shot_iterator().get_next()
    memory = tf.placeholder(tf.float32, [None, 4, FLAGS.d_model])
    table = tf.get_variable("table", [4, FLAGS.d_model])
    with tf.variable_scope("layer"):
        out = attend(tf.nn.embedding_lookup(table, batch[0]), memory)
    logits = tf.einsum("ibd,nd->ibn", out, table)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=batch[1], logits=logits))
    grads, names = zip(*tf.train.AdamOptimizer(0.05).compute_gradients(loss))
    step = tf.train.get_or_create_global_step()
    grads, norm = tf.clip_by_global_norm(grads, 0.25)
    rate = tf.train.cosine_decay(0.05, step, FLAGS.steps, alpha=0.1)
    train = tf.train.AdamOptimizer(rate).apply_gradients(zip(grads, names), step)
    losses = []
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        kept = np.zeros([5, 4, FLAGS.d_model], np.float32)
        for _ in range(FLAGS.steps):
            value, kept, _ = sess.run([loss, tf.stop_gradient(out), train], {memory: kept})
            losses.append(value)
    assert losses[-1] < losses[0] / 2, losses
    print("done")


if __name__ == "__main__":
    tf.app.run()
"""

_PROGRAMS = {
    "segments_with_memory": (_SEGMENTS_WITH_MEMORY, ("tf_slim", "absl")),
    "flags_and_queues": (_FLAGS_AND_QUEUES, ()),
    "two_networks": (_TWO_NETWORKS, ("tf_slim", "scipy")),
    "translator": (_TRANSLATOR, ("tf_slim",)),
    "actor_and_memory": (_ACTOR_AND_MEMORY, ("tf_slim",)),
}


@pytest.mark.repeats
@pytest.mark.parametrize("name", list(_PROGRAMS))
def test_a_program_of_2018_runs_unmodified(tmp_path: Path, name: str) -> None:
    """It ends with its own check."""
    source, needed = _PROGRAMS[name]
    for package in needed:
        if find_spec(package) is None:
            pytest.skip(f"needs {package}")
    (tmp_path / f"{name}.py").write_text(source)
    arguments = [f"--folder={tmp_path}"] if "folder" in source else ["--d_model", "16"]
    found = subprocess.run(
        [sys.executable, "-m", "tfnb", "run", f"{name}.py", *arguments],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )  # fmt: skip
    assert found.stdout.splitlines()[-1:] == ["done"], found.stderr[-3000:]
