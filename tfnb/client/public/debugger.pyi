# The names of tf.debugger; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.debugger.breakpoints import Breakpoint as Breakpoint
from tfnb.client.debugger.debugger import Debugger as Debugger
from tfnb.client.debugger.run_difference import RunDifference as RunDifference
from tfnb.client.debugger.run_difference import RunValues as RunValues
from tfnb.client.debugger.run_difference import assert_same_run as assert_same_run
from tfnb.client.debugger.run_difference import compare_runs as compare_runs
from tfnb.client.debugger.run_difference import record_values as record_values
from tfnb.client.debugger.stop import Stop as Stop
from tfnb.client.debugger.text_debugger import TextDebugger as TextDebugger
from tfnb.client.debugger.watched_tensor import WatchedTensor as WatchedTensor
from tfnb.client.step_sampler import StepSampler as StepSampler
