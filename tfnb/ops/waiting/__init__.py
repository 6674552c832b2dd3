"""Ops that wait: queues, barriers, accumulators, staging areas, mutexes."""
