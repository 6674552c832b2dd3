"""Limits and settings of a model's service."""

from __future__ import annotations

from dataclasses import dataclass, field

from tfnb.core.process.work_sharder import available_processors


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """Limits and settings of a model's service.

    Attributes:
        num_workers: The number of threads that run the model; by default as many as there are
            processors for this process, since further ones would take turns on a processor.
        batch_size: The maximum number of rows of a step that joins requests; 1: none are joined.
        batch_wait_s: How long a request waits for others to join; 0: it joins those that wait.
        max_waiting: The maximum number of requests that run or wait; further ones are refused.
        max_request_bytes: The maximum size of a request.
        timeout_s: The maximum time of a request, from its last byte to its answer.
        client_timeout_s: The time a client has to send a request.
        max_connections: The maximum number of connections.
    """

    num_workers: int = field(default_factory=available_processors)
    batch_size: int = 1
    batch_wait_s: float = 0.0
    max_waiting: int = 1024
    max_request_bytes: int = 64 * 2**20
    timeout_s: float = 60.0
    client_timeout_s: float = 30.0
    max_connections: int = 4096

    def __post_init__(self) -> None:
        """Refuse settings with which no request could be answered.

        Raises:
            ValueError: A setting is out of range.
        """
        for name in ("num_workers", "batch_size", "max_waiting", "max_request_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 1 or more.")
        for name in ("timeout_s", "client_timeout_s"):
            if not getattr(self, name) > 0:  # nor NaN
                raise ValueError(f"{name} is {getattr(self, name)}; it must be more than 0.")
        if not self.batch_wait_s >= 0:
            raise ValueError(f"batch_wait_s is {self.batch_wait_s}; it cannot be negative.")
