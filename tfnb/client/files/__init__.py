"""Files of a program: ``tf.gfile``, records, and the event files of summaries."""
