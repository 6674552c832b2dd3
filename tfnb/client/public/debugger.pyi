# The names of tf.debugger; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.debugger.breakpoints import Breakpoint as Breakpoint
from tfnb.client.debugger.debugger import Debugger as Debugger
from tfnb.client.debugger.stop import Stop as Stop
from tfnb.client.debugger.text_debugger import TextDebugger as TextDebugger
from tfnb.client.debugger.watched_tensor import WatchedTensor as WatchedTensor
