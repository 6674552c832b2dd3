"""A cell with a memory that it reads and writes: the Neural Turing Machine."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tfnb.client.public.api import tf
from tfnb.library.rnn.cells import LayerRNNCell
from tfnb.library.rnn.state import assert_like_rnn_cell

_SMALL = 1e-8


class NTMControllerState(NamedTuple):
    """The state of an ``NTMCell``: its controller's, what heads read, where they point, the memory.

    ``time`` is the number of steps so far: at 0, the learned first values take the place of the
    others.
    """

    controller_state: Any
    read_vector_list: Any
    w_list: Any
    M: Any
    time: Any


class NTMCell(LayerRNNCell):
    """A cell whose controller moves heads over a memory.

    Source: Graves, Wayne and Danihelka, Neural Turing Machines; Collier and Beel, Implementing
    Neural Turing Machines.

    Args:
      controller: the cell that moves the heads.
      memory_size: the number of places of the memory.
      memory_vector_dim: the size of a place.
      read_head_num: the number of heads that read.
      write_head_num: the number of heads that write.
      shift_range: how many places a head can move in a step, in either direction.
      output_dim: the size of the output; that of the input if None.
      clip_value: the largest value of the output, and of what the controller gives to the heads.
      dtype: the layer's type.
      name: the layer's name.
    """

    def __init__(
        self,
        controller: Any,
        memory_size: int,
        memory_vector_dim: int,
        read_head_num: int,
        write_head_num: int,
        shift_range: int = 1,
        output_dim: int | None = None,
        clip_value: float = 20,
        dtype: Any = tf.float32,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        assert_like_rnn_cell("NTM RNN controller cell", controller)
        self.controller = controller
        self.memory_size = memory_size
        self.memory_vector_dim = memory_vector_dim
        self.read_head_num = read_head_num
        self.write_head_num = write_head_num
        self.shift_range = shift_range
        self.output_dim = output_dim
        self.clip_value = clip_value
        self.num_heads = read_head_num + write_head_num
        # A head has a key, its strength, the gate, the moves and the sharpness.
        self.num_parameters_per_head = memory_vector_dim + 2 * shift_range + 4
        self.total_parameter_num = (
            self.num_parameters_per_head * self.num_heads + 2 * memory_vector_dim * write_head_num
        )

    @property
    def state_size(self) -> Any:
        """The sizes of the state's parts."""
        return NTMControllerState(
            controller_state=self.controller.state_size,
            read_vector_list=[self.memory_vector_dim] * self.read_head_num,
            w_list=[self.memory_size] * self.num_heads,
            M=tf.TensorShape([self.memory_size, self.memory_vector_dim]),
            time=tf.TensorShape([]),
        )

    @property
    def output_size(self) -> Any:
        """The size of the output; None before the first call if none was given."""
        return self.output_dim

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the state before the first step."""
        memory = [batch_size, self.memory_size, self.memory_vector_dim]
        reading = tf.zeros([batch_size, self.memory_vector_dim], dtype)
        pointing = tf.zeros([batch_size, self.memory_size], dtype)
        return NTMControllerState(
            controller_state=self.controller.zero_state(batch_size, dtype),
            read_vector_list=[reading] * self.read_head_num,
            w_list=[pointing] * self.num_heads,
            M=tf.zeros(memory, dtype),
            time=tf.zeros([], tf.int32),
        )

    def build(self, inputs_shape: Any) -> None:
        """Make the weights.

        Raises:
          ValueError: the size of the inputs is unknown, and no size of the output was given.
        """
        if self.output_dim is None:
            depth = tf.TensorShape(inputs_shape).as_list()[1]
            if depth is None:
                raise ValueError(
                    f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}"
                )
            self.output_dim = depth
        controlled = self.controller.output_size
        joined = controlled + self.memory_vector_dim * self.read_head_num
        self._to_heads = self._linear("parameters", controlled, self.total_parameter_num)
        self._to_output = self._linear("output", joined, self.output_dim)
        uniform = tf.glorot_uniform_initializer()
        self._first_readings = [
            self.add_variable(
                f"initial_read_vector_{index}", [1, self.memory_vector_dim], initializer=uniform
            )
            for index in range(self.read_head_num)
        ]
        self._first_places = [
            self.add_variable(
                f"initial_address_weights_{index}", [1, self.memory_size], initializer=uniform
            )
            for index in range(self.num_heads)
        ]
        self._first_memory = self.add_variable(
            "memory",
            [self.memory_size, self.memory_vector_dim],
            initializer=tf.constant_initializer(1e-6, self.dtype),
        )
        self.built = True

    def _linear(self, name: str, size: int, units: int) -> tuple[Any, Any]:
        spread = tf.truncated_normal_initializer(stddev=1 / math.sqrt(size), dtype=self.dtype)
        return (
            self.add_variable(f"{name}_kernel", [size, units], initializer=spread),
            self.add_variable(
                f"{name}_bias", [units], initializer=tf.constant_initializer(0.0, self.dtype)
            ),
        )

    def _clipped(self, weights: tuple[Any, Any], values: Any) -> Any:
        kernel, bias = weights
        mapped = tf.nn.bias_add(tf.matmul(values, kernel), bias)
        return tf.clip_by_value(mapped, -self.clip_value, self.clip_value)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        is_first = tf.equal(state.time, 0)
        readings = [
            tf.where_v2(is_first, tf.tanh(first), before)
            for first, before in zip(self._first_readings, state.read_vector_list, strict=True)
        ]
        places = [
            tf.where_v2(is_first, tf.nn.softmax(first), before)
            for first, before in zip(self._first_places, state.w_list, strict=True)
        ]
        memory = tf.where_v2(is_first, self._first_memory[None], state.M)

        controlled, controller_state = self.controller(
            tf.concat([inputs, *readings], 1), state.controller_state
        )
        parameters = self._clipped(self._to_heads, controlled)
        of_heads = self.num_parameters_per_head * self.num_heads
        moved = [
            self._move(head, memory, place)
            for head, place in zip(
                tf.split(parameters[:, :of_heads], self.num_heads, axis=1), places, strict=True
            )
        ]
        reading, writing = moved[: self.read_head_num], moved[self.read_head_num :]
        read = [tf.reduce_sum(place[:, :, None] * memory, 1) for place in reading]
        changes = parameters[:, of_heads:]
        changes = tf.split(changes, 2 * self.write_head_num, axis=1) if writing else []
        for place, erased, added in zip(writing, changes[::2], changes[1::2], strict=True):
            at = place[:, :, None]
            memory *= 1 - at * tf.sigmoid(erased)[:, None]
            memory += at * tf.tanh(added)[:, None]
        return self._clipped(self._to_output, tf.concat([controlled, *read], 1)), (
            NTMControllerState(controller_state, read, moved, memory, state.time + 1)
        )

    def _move(self, head: Any, memory: Any, place: Any) -> Any:
        """Return where a head points after a step, as weights of the places."""
        size, reach = self.memory_vector_dim, self.shift_range
        key = tf.tanh(head[:, :size])
        strength = tf.nn.softplus(head[:, size, None])
        gate = tf.sigmoid(head[:, size + 1, None])
        moves = tf.nn.softmax(head[:, size + 2 : -1])
        sharpness = tf.nn.softplus(head[:, -1, None]) + 1

        lengths = tf.norm(memory, axis=2) * tf.norm(key, axis=1, keepdims=True)
        alike = tf.reduce_sum(memory * key[:, None], 2) / (lengths + _SMALL)
        found = gate * tf.nn.softmax(strength * alike) + (1 - gate) * place
        # The moves are by 0, 1, … reach places, then by -reach, … -1.
        by = [*range(reach + 1), *range(-reach, 0)]
        turned = tf.add_n(
            [
                moves[:, index, None] * tf.roll(found, distance, axis=1)
                for index, distance in enumerate(by)
            ]
        )
        sharp = turned**sharpness
        return sharp / tf.reduce_sum(sharp, 1, keepdims=True)
