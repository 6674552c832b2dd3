"""A decoder that asks a helper for each next input."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfnb.as_tensorflow.contrib.seq2seq.decoder import Decoder, output_layer_size
from tfnb.as_tensorflow.contrib.seq2seq.helper import Helper
from tfnb.client.public.api import tf
from tfnb.framework.structures import nest
from tfnb.library.layers.base import Layer
from tfnb.library.rnn.state import assert_like_rnn_cell


class BasicDecoderOutput(NamedTuple):
    """Outputs of a step.

    Attributes:
      rnn_output: of the cell, or of the output layer.
      sample_id: what the helper took from them.
    """

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """A decoder with a cell and a helper.

    Args:
      cell: the cell.
      helper: gives the inputs.
      initial_state: the cell's first state.
      output_layer: a layer over the cell's outputs, or None.

    Raises:
      TypeError: the cell, the helper or the layer is none.
    """

    def __init__(
        self, cell: Any, helper: Any, initial_state: Any, output_layer: Any = None
    ) -> None:
        assert_like_rnn_cell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        return self._helper.batch_size

    def _rnn_output_size(self) -> Any:
        return output_layer_size(self._cell, self._output_layer)

    @property
    def output_size(self) -> Any:
        """The sizes of a step's outputs."""
        return BasicDecoderOutput(self._rnn_output_size(), self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        """The types of a step's outputs: the state's, and that of samples."""
        dtype = nest.flatten(self._initial_state)[0].dtype
        sizes = self._rnn_output_size()
        return BasicDecoderOutput(
            nest.map_structure(lambda _: dtype, sizes), self._helper.sample_ids_dtype
        )

    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, first inputs, first state)."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Return (outputs, next state, next inputs, finished)."""
        with tf.name_scope(name, "BasicDecoderStep", [time, inputs, state]):
            outputs, cell_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            sample_ids = self._helper.sample(time=time, outputs=outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=cell_state, sample_ids=sample_ids
            )
        return BasicDecoderOutput(outputs, sample_ids), next_state, next_inputs, finished
