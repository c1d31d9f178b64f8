"""What a call asks of the outside.

A call is a generator that yields these and is sent their results, so that one description of the
payment rules serves the blocking and the async client.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")

#: More than twenty results of 8,000 characters can take, however they are escaped.
BODY_BYTES_MAX = 16 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """One complete HTTP answer; header names are found in any letter case."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class Send:
    """Send one request; the result is an Answer, or an APIConnectionError is raised."""

    url: str
    #: Sent with POST; without one the request is a GET.
    body: str | None
    headers: Mapping[str, str]
    timeout: float

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "GET" if self.body is None else "POST"

    @property
    def content(self) -> bytes | None:
        """The body's bytes."""
        return None if self.body is None else self.body.encode()


@dataclass(frozen=True)
class Sleep:
    """Wait."""

    seconds: float


@dataclass(frozen=True)
class Run:
    """Call something that may touch the disk; the async client does so in a thread."""

    work: Callable[[], Any]


@dataclass(frozen=True)
class Ask:
    """Call something of the caller's; the async client awaits what can be awaited."""

    work: Callable[[], Any]


@dataclass(frozen=True)
class Lock:
    """Enter the one section for a key within this client."""

    key: str


@dataclass(frozen=True)
class Unlock:
    """Leave it."""

    key: str


Effect = Send | Sleep | Run | Ask | Lock | Unlock
Flow = Generator[Effect, Any, T]


def send(effect: Send) -> Flow[Answer]:
    """Yield a Send with its type."""
    return cast("Answer", (yield effect))


def run(work: Callable[[], T]) -> Flow[T]:
    """Yield a Run with its type."""
    return cast("T", (yield Run(work)))
