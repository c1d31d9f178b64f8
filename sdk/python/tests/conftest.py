"""Worlds to test in: a gateway and a fault proxy, steered over HTTP; and both clients."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import os
import random
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from stand_in import StandIn

from search402 import AsyncSearch402, PrivateKeySigner, Search402
from search402._runtime import Runtime, using

# Each client makes a TLS context of its own, which takes longer than most tests; here they share.
ssl.create_default_context = cast("Any", functools.cache(ssl.create_default_context))
SERVER = os.environ.get("SEARCH402_TEST_SERVER", "")
CONTROL = httpx.Client()
GOOD_KEY = "s402_test_good_key_for_the_sdk_tests"


class AsyncAsBlocking:
    """The async client, driven from blocking tests, so that both clients meet the same tests."""

    def __init__(self, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncSearch402(**options)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            return self._loop.run_until_complete(result) if inspect.isawaitable(result) else result

        return call

    def around(self, client: AsyncSearch402) -> AsyncAsBlocking:
        """Return another client on the same loop."""
        other = AsyncAsBlocking.__new__(AsyncAsBlocking)
        other._loop, other._client = self._loop, client
        return other

    def shut(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


class World:
    """One gateway behind one fault proxy."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        made = CONTROL.post(f"{SERVER}/worlds").json()
        self.url: str = made["url"]
        self._control = f"{SERVER}/worlds/{made['id']}"
        self.waits: list[float] = []
        self.private_key = random.randbytes(32).hex()
        self.wallet = PrivateKeySigner(self.private_key)
        self._made: list[Any] = []

        async def sleep_async(seconds: float) -> None:
            self.waits.append(seconds)

        self.runtime = Runtime(sleep=self.waits.append, sleep_async=sleep_async, random=lambda: 0.0)

    def steer(self, **what: Any) -> None:
        """Append ``faults`` and ``moves``, replace ``terms``."""
        CONTROL.post(self._control, json=what)

    @property
    def seen(self) -> list[dict[str, Any]]:
        """What the client sent."""
        seen: list[dict[str, Any]] = CONTROL.get(self._control).json()["seen"]
        return seen

    @property
    def transfers(self) -> list[dict[str, Any]]:
        """What moved on chain."""
        transfers: list[dict[str, Any]] = CONTROL.get(self._control).json()["transfers"]
        return transfers

    def signatures(self) -> int:
        """Distinct payments that the client handed out."""
        return len({seen["payment"] for seen in self.seen if "payment" in seen})

    def client(self, **options: Any) -> Any:
        """Make a client with the world's wallet, unless the options say otherwise."""
        options.setdefault("base_url", self.url)
        runtime = dataclasses.replace(self.runtime, **options.pop("runtime", {}))
        if "api_key" not in options:
            options.setdefault("wallet", self.wallet)
        make: Callable[..., Any] = Search402 if self.kind == "blocking" else AsyncAsBlocking
        with using(runtime):
            client = make(**options)
        self._made.append(client)
        return client

    def close(self) -> None:
        for client in self._made:
            client.shut() if isinstance(client, AsyncAsBlocking) else client.close()


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the default store of each test to itself, and the user's own out of all of them."""
    monkeypatch.delenv("SEARCH402_STORE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture(params=["blocking", "async"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if not SERVER:
        pytest.fail("run these tests with: node scripts/test-python.mjs")
    world = World(request.param)
    yield world
    world.close()


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    stand_in = StandIn()
    yield stand_in
    stand_in.close()


@pytest.fixture(params=["blocking", "async"])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Make clients that do not wait between tries."""
    made: list[Any] = []

    async def no_wait(_: float) -> None:
        pass

    runtime = Runtime(sleep=lambda _: None, sleep_async=no_wait, random=lambda: 0.0)

    def make(**options: Any) -> Any:
        kind: Callable[..., Any] = Search402 if request.param == "blocking" else AsyncAsBlocking
        with using(options.pop("runtime", runtime)):
            client = kind(**options)
        made.append(client)
        return client

    yield make
    for client in made:
        client.shut() if isinstance(client, AsyncAsBlocking) else client.close()


@pytest.fixture
def blocking_world() -> Iterator[World]:
    world = World("blocking")
    yield world
    world.close()
