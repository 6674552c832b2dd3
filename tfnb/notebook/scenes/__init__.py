"""Scenes: graphs as nested boxes and edges, laid out, and written as SVG, PNG and text."""
