"""The user's session, which connects a graph being built with the runtime that runs it."""
