"""Training with sessions: hooks around each run, sessions that recover, the older Supervisor.

``session_run_hook`` says what a hook is, ``hooks`` and ``saving_hooks`` have TensorFlow's own;
``session_manager`` makes a session ready, ``scaffold`` says with which ops; ``monitored_session``
puts these together. ``supervisor`` does with threads what hooks do between steps.
"""
