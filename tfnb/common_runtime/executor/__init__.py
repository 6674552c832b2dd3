"""One step: tables, frames and iterations, the loop over nodes, and why a node waits."""
