"""Graphs made from messages: GraphDefs of any producer, nodes copied between graphs."""
