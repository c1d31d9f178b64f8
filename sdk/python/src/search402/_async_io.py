"""What the async client does for its flows, on asyncio. The twin of ``_io.py``."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import httpx

from ._effects import BODY_BYTES_MAX, Answer, Ask, Effect, Lock, Run, Send, Sleep, Unlock
from ._runtime import Runtime
from .errors import APIConnectionError, APITimeoutError, ProtocolError

T = TypeVar("T")
R = TypeVar("R")


class AsyncPerformer:
    """Performs effects in one event loop."""

    def __init__(self, http: httpx.AsyncClient, runtime: Runtime) -> None:
        self._http = http
        self._runtime = runtime
        self._sections: dict[str, tuple[asyncio.Lock, int]] = {}

    async def perform(self, effect: Effect) -> Any:
        """Do what an effect asks for."""
        match effect:
            case Send():
                return await self._send(effect)
            case Sleep(seconds):
                await self._runtime.sleep_async(seconds)
            case Run(work):
                return await asyncio.to_thread(work)
            case Ask(work):
                result = work()
                return await result if inspect.isawaitable(result) else result
            case Lock(key):
                lock, users = self._sections.get(key, (asyncio.Lock(), 0))
                self._sections[key] = (lock, users + 1)
                await lock.acquire()
            case Unlock(key):
                lock, users = self._sections.pop(key)
                if users > 1:
                    self._sections[key] = (lock, users - 1)
                lock.release()
        return None

    async def map(
        self, work: Callable[[T], Awaitable[R]], items: Sequence[T], concurrency: int
    ) -> list[R]:
        """Return the results in the order of the items, a bounded number at work at once."""
        slots = asyncio.Semaphore(concurrency)

        async def one(item: T) -> R:
            async with slots:
                return await work(item)

        return await asyncio.gather(*map(one, items))

    async def _send(self, effect: Send) -> Answer:
        try:
            return await asyncio.wait_for(self._receive(effect), effect.timeout)
        except (asyncio.TimeoutError, httpx.TimeoutException) as error:
            message = f"no complete answer within {effect.timeout} s"
            raise APITimeoutError(message) from error
        except httpx.HTTPError as error:
            raise APIConnectionError(f"no complete answer from {effect.url}: {error}") from error

    async def _receive(self, effect: Send) -> Answer:
        async with self._http.stream(
            effect.method,
            effect.url,
            content=effect.content,
            headers=dict(effect.headers),
            timeout=effect.timeout,
            # Credentials never follow a redirect.
            follow_redirects=False,
        ) as response:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > BODY_BYTES_MAX:
                    raise ProtocolError("the reply is too large for a search response")
            return Answer(response.status_code, response.headers, body.decode(errors="replace"))
