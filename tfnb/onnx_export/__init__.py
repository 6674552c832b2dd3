"""Models as ONNX files, without TensorFlow; ``onnx`` is imported on first use."""
