"""Pictures of steps and values as SVG and as text."""
