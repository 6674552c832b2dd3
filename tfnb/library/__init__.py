"""What is built of ops and registers none: the functions and classes of ``tf``."""
