"""What a server puts up with, as one record that travels through the application."""

from __future__ import annotations

from dataclasses import dataclass, fields

from siamese_cbow.errors import SettingsError


@dataclass(frozen=True)
class Limits:
    """`Limits(max_inputs=16)`: as `Limits()`, but no more than 16 texts in a request."""

    max_bytes: int = 8 << 20  # of the body of a request
    max_inputs: int = 2048  # texts in a request; OpenAI's own limit
    max_concurrent: int = 256  # requests under way; more are told to come again. 256 bodies of 8 MB fit into memory
    seconds: float = 30.0  # from the first byte of a request to the last one of its answer
    idle_seconds: float = 75.0  # for a connection on which no request has arrived whole

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise SettingsError(f"{field.name} is {value}; expected more than 0")
