"""Parts of ``tf.contrib`` that are made of tfnb's own names."""
