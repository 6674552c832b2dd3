"""Which shape a partition has: schedules, loops, conditions, registers."""
