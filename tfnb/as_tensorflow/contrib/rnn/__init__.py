"""``tf.contrib.rnn``: cells and functions that became ``tf.nn``'s, and more cells."""

from __future__ import annotations

from tfnb.as_tensorflow.contrib.rnn.block_cells import GRUBlockCell as GRUBlockCell
from tfnb.as_tensorflow.contrib.rnn.block_cells import GRUBlockCellV2 as GRUBlockCellV2
from tfnb.as_tensorflow.contrib.rnn.block_cells import LSTMBlockCell as LSTMBlockCell
from tfnb.as_tensorflow.contrib.rnn.block_cells import LSTMBlockFusedCell as LSTMBlockFusedCell
from tfnb.as_tensorflow.contrib.rnn.block_cells import LSTMBlockWrapper as LSTMBlockWrapper
from tfnb.as_tensorflow.contrib.rnn.conv_cells import Conv1DLSTMCell as Conv1DLSTMCell
from tfnb.as_tensorflow.contrib.rnn.conv_cells import Conv2DLSTMCell as Conv2DLSTMCell
from tfnb.as_tensorflow.contrib.rnn.conv_cells import Conv3DLSTMCell as Conv3DLSTMCell
from tfnb.as_tensorflow.contrib.rnn.conv_cells import ConvLSTMCell as ConvLSTMCell
from tfnb.as_tensorflow.contrib.rnn.fused import FusedRNNCell as FusedRNNCell
from tfnb.as_tensorflow.contrib.rnn.fused import FusedRNNCellAdaptor as FusedRNNCellAdaptor
from tfnb.as_tensorflow.contrib.rnn.fused import TimeReversedFusedRNN as TimeReversedFusedRNN
from tfnb.as_tensorflow.contrib.rnn.fused import (
    stack_bidirectional_dynamic_rnn as stack_bidirectional_dynamic_rnn,
)
from tfnb.as_tensorflow.contrib.rnn.fused import stack_bidirectional_rnn as stack_bidirectional_rnn
from tfnb.as_tensorflow.contrib.rnn.fused import transpose_batch_time as transpose_batch_time
from tfnb.as_tensorflow.contrib.rnn.grid_cells import (
    BidirectionalGridLSTMCell as BidirectionalGridLSTMCell,
)
from tfnb.as_tensorflow.contrib.rnn.grid_cells import GridLSTMCell as GridLSTMCell
from tfnb.as_tensorflow.contrib.rnn.grid_cells import TimeFreqLSTMCell as TimeFreqLSTMCell
from tfnb.as_tensorflow.contrib.rnn.lstm_cells import (
    CoupledInputForgetGateLSTMCell as CoupledInputForgetGateLSTMCell,
)
from tfnb.as_tensorflow.contrib.rnn.lstm_cells import GLSTMCell as GLSTMCell
from tfnb.as_tensorflow.contrib.rnn.lstm_cells import (
    LayerNormBasicLSTMCell as LayerNormBasicLSTMCell,
)
from tfnb.as_tensorflow.contrib.rnn.lstm_cells import LayerNormLSTMCell as LayerNormLSTMCell
from tfnb.as_tensorflow.contrib.rnn.lstm_cells import PhasedLSTMCell as PhasedLSTMCell
from tfnb.as_tensorflow.contrib.rnn.lstm_cells import WeightNormLSTMCell as WeightNormLSTMCell
from tfnb.as_tensorflow.contrib.rnn.turing_machine import NTMCell as NTMCell
from tfnb.as_tensorflow.contrib.rnn.turing_machine import NTMControllerState as NTMControllerState
from tfnb.as_tensorflow.contrib.rnn.unit_cells import CFNCell as CFNCell
from tfnb.as_tensorflow.contrib.rnn.unit_cells import IndRNNCell as IndRNNCell
from tfnb.as_tensorflow.contrib.rnn.unit_cells import IndyGRUCell as IndyGRUCell
from tfnb.as_tensorflow.contrib.rnn.unit_cells import IndyLSTMCell as IndyLSTMCell
from tfnb.as_tensorflow.contrib.rnn.unit_cells import IntersectionRNNCell as IntersectionRNNCell
from tfnb.as_tensorflow.contrib.rnn.unit_cells import MinimalRNNCell as MinimalRNNCell
from tfnb.as_tensorflow.contrib.rnn.unit_cells import NASCell as NASCell
from tfnb.as_tensorflow.contrib.rnn.unit_cells import SRUCell as SRUCell
from tfnb.as_tensorflow.contrib.rnn.unit_cells import UGRNNCell as UGRNNCell
from tfnb.as_tensorflow.contrib.rnn.wrappers import AttentionCellWrapper as AttentionCellWrapper
from tfnb.as_tensorflow.contrib.rnn.wrappers import CompiledWrapper as CompiledWrapper
from tfnb.as_tensorflow.contrib.rnn.wrappers import EmbeddingWrapper as EmbeddingWrapper
from tfnb.as_tensorflow.contrib.rnn.wrappers import HighwayWrapper as HighwayWrapper
from tfnb.as_tensorflow.contrib.rnn.wrappers import (
    InputProjectionWrapper as InputProjectionWrapper,
)
from tfnb.as_tensorflow.contrib.rnn.wrappers import (
    OutputProjectionWrapper as OutputProjectionWrapper,
)
from tfnb.client.public.api import tf
from tfnb.library.rnn.cells import LayerRNNCell as LayerRNNCell

RNNCell = tf.nn.rnn_cell.RNNCell
BasicRNNCell = tf.nn.rnn_cell.BasicRNNCell
BasicLSTMCell = tf.nn.rnn_cell.BasicLSTMCell
LSTMCell = tf.nn.rnn_cell.LSTMCell
GRUCell = tf.nn.rnn_cell.GRUCell
LSTMStateTuple = tf.nn.rnn_cell.LSTMStateTuple
MultiRNNCell = tf.nn.rnn_cell.MultiRNNCell
DropoutWrapper = tf.nn.rnn_cell.DropoutWrapper
ResidualWrapper = tf.nn.rnn_cell.ResidualWrapper
DeviceWrapper = tf.nn.rnn_cell.DeviceWrapper
static_rnn = tf.nn.static_rnn
static_state_saving_rnn = tf.nn.static_state_saving_rnn
static_bidirectional_rnn = tf.nn.static_bidirectional_rnn
