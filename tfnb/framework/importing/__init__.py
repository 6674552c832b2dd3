"""Graphs from messages: GraphDefs of any producer, nodes copied between graphs."""
