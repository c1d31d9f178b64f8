"""What the blocking client does for its flows, with threads. The twin of ``_async_io.py``."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx

from ._effects import BODY_BYTES_MAX, Answer, Ask, Effect, Lock, Run, Send, Sleep, Unlock
from ._runtime import Runtime
from .errors import APIConnectionError, APITimeoutError, ConfigurationError, ProtocolError

T = TypeVar("T")
R = TypeVar("R")


class Performer:
    """Performs effects in whatever thread calls it."""

    def __init__(self, http: httpx.Client, runtime: Runtime) -> None:
        self._http = http
        self._runtime = runtime
        self._sections: dict[str, tuple[threading.Lock, int]] = {}
        self._guard = threading.Lock()

    def perform(self, effect: Effect) -> Any:
        """Do what an effect asks for."""
        match effect:
            case Send():
                return self._send(effect)
            case Sleep(seconds):
                self._runtime.sleep(seconds)
            case Run(work):
                return work()
            case Ask(work):
                result = work()
                if inspect.isawaitable(result):
                    if inspect.iscoroutine(result):
                        result.close()
                    raise ConfigurationError("an async wallet or hook needs AsyncSearch402")
                return result
            case Lock(key):
                with self._guard:
                    lock, users = self._sections.get(key, (threading.Lock(), 0))
                    self._sections[key] = (lock, users + 1)
                lock.acquire()
            case Unlock(key):
                with self._guard:
                    lock, users = self._sections.pop(key)
                    if users > 1:
                        self._sections[key] = (lock, users - 1)
                lock.release()
        return None

    def map(self, work: Callable[[T], R], items: Sequence[T], concurrency: int) -> list[R]:
        """Return the results in the order of the items, a bounded number at work at once."""
        with ThreadPoolExecutor(concurrency) as pool:
            return list(pool.map(work, items))

    def _send(self, effect: Send) -> Answer:
        # httpx limits the wait for each chunk; a body that drips needs a limit of its own.
        deadline = self._runtime.monotonic() + effect.timeout
        try:
            return self._receive(effect, deadline)
        except httpx.TimeoutException as error:
            message = f"no complete answer within {effect.timeout} s"
            raise APITimeoutError(message) from error
        except httpx.HTTPError as error:
            raise APIConnectionError(f"no complete answer from {effect.url}: {error}") from error

    def _receive(self, effect: Send, deadline: float) -> Answer:
        with self._http.stream(
            effect.method,
            effect.url,
            content=effect.content,
            headers=dict(effect.headers),
            timeout=effect.timeout,
            # Credentials never follow a redirect.
            follow_redirects=False,
        ) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > BODY_BYTES_MAX:
                    raise ProtocolError("the reply is too large for a search response")
                if self._runtime.monotonic() > deadline:
                    raise httpx.ReadTimeout("the body dripped")
            return Answer(response.status_code, response.headers, body.decode(errors="replace"))
