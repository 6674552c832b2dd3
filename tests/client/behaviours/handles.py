"""Tensors that stay in the session, behind handles."""

from __future__ import annotations

from typing import Any

from tests.client.behaviours.writing import behaviour


def _handle(tf: Any, sess: Any) -> Any:
    return sess.run(tf.get_session_handle(tf.constant(3.0) * 2))


@behaviour(205)
def there_and_back(tf: Any) -> Any:
    sess = tf.Session()
    handle = _handle(tf, sess)
    holder, value = tf.get_session_tensor(handle.handle, tf.float32)
    words = handle.handle.split(";")
    found = sess.run(value + 1, {holder: handle.handle})
    return type(handle), words[0], words[2], found, handle.eval()


@behaviour(206)
def a_handle_that_is_not_fetched(tf: Any) -> Any:
    tf.get_session_handle(tf.constant(3.0))
    return tf.Session().run(tf.constant(1))


@behaviour(207, "is not in the session store.")
def a_handle_of_another_session(tf: Any) -> Any:
    raw = _handle(tf, tf.Session()).get_raw_handle()
    holder, value = tf.get_session_tensor(raw, tf.float32)
    return tf.Session().run(value, {holder: raw})


@behaviour(208, "is not in the session store.")
def a_handle_that_was_deleted(tf: Any) -> Any:
    sess = tf.Session()
    handle = _handle(tf, sess)
    holder, value = tf.get_session_tensor(handle.handle, tf.float32)
    handle.delete()
    return sess.run(value, {holder: handle.handle})


@behaviour(209)
def feeding_a_handle(tf: Any) -> Any:
    sess = tf.Session()
    handle = _handle(tf, sess)
    fed = tf.placeholder(tf.float32)
    return sess.run(fed + 1, {fed: handle})


@behaviour(211, "Failed to delete a tensor with handle")
def deleting_an_unknown_handle(tf: Any) -> Any:
    unknown = "GetSessionHandle;77;/job:localhost/replica:0/task:0/device:CPU:0"
    holder, delete = tf.delete_session_tensor(unknown)
    return tf.Session().run(delete, {holder: unknown})
