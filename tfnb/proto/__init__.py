"""TensorFlow's messages, generated from ``protos/``.

Import the module you need (``from tfnb.proto import graph_pb2``); nothing is imported here, for
some modules are needed only by a few users (``summary_pb2``, ``saved_model_pb2``…).
"""
