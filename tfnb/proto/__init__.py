"""TensorFlow's messages, generated from ``protos/``; import the module you need (``from tfnb.proto import graph_pb2``).

Nothing is imported here: some modules are needed only by a few users (``summary_pb2``, ``saved_model_pb2``…).
"""
