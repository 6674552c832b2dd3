"""The structure of a partition: schedules, loops, conditions, registers."""
