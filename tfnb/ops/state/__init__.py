"""Variables and the ops that change them."""
