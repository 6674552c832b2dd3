"""What converters stand on: the nodes that are written, the table of converters, refusals."""
