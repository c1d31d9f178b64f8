"""Time and chance, so that tests can own them."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Runtime:
    """What the clients take from the machine."""

    #: Wall clock, milliseconds since the Unix epoch.
    now_ms: Callable[[], int] = lambda: int(time.time() * 1000)
    #: Seconds that only move forward.
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    sleep_async: Callable[[float], Awaitable[None]] = asyncio.sleep
    #: At least 0, below 1; not for secrets.
    random: Callable[[], float] = random.random
    token_bytes: Callable[[int], bytes] = secrets.token_bytes


_REAL = Runtime()
_current: ContextVar[Runtime] = ContextVar("search402_runtime", default=_REAL)


def current_runtime() -> Runtime:
    """Return what a client that is made now takes from the machine."""
    return _current.get()


@contextmanager
def using(runtime: Runtime) -> Generator[None, None, None]:
    """Give clients that are made within another runtime, so that no constructor needs one."""
    token = _current.set(runtime)
    try:
        yield
    finally:
        _current.reset(token)
