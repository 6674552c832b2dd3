"""Training with sessions: hooks around each run, sessions that recover, the older Supervisor.

``session_run_hook`` defines hooks, ``hooks`` and ``saving_hooks`` contain TensorFlow's own;
``session_manager`` prepares a session, with the ops of a ``scaffold``; ``monitored_session``
combines these. ``supervisor`` does in threads the work that hooks do between steps.
"""
