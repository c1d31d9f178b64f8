"""What people expect of a client that they know from others."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import AsyncAsBlocking
from stand_in import DROP, OK, Says, StandIn

import search402 as sdk
from search402._runtime import Runtime, using

SOURCE = Path(__file__).parents[1] / "src"
WALLET = sdk.PrivateKeySigner("42" * 32)


def keys(stand_in: StandIn) -> list[str | None]:
    """Return the Idempotency-Key of each request."""
    return [asked.headers.get("idempotency-key") for asked in stand_in.asked]


def test_all_tries_of_a_keyed_call_have_one_idempotency_key(
    make: Callable[..., Any], stand_in: StandIn
) -> None:
    client = make(api_key="k", base_url=stand_in.url)
    stand_in.next = [DROP, Says(503, "idempotency_pending", headers={"retry-after": "0"})]
    client.search("kestrel")
    first = set(keys(stand_in))
    assert len(stand_in.asked) == 3 and len(first) == 1
    key = first.pop()
    assert key is not None and len(key) == 32
    client.search("kestrel")
    assert keys(stand_in)[3] not in (None, key)


def test_each_query_of_many_keeps_a_key_of_its_own(
    make: Callable[..., Any], stand_in: StandIn
) -> None:
    client = make(api_key="k", base_url=stand_in.url)
    stand_in.next = [DROP, DROP, Says(500), OK]
    client.search_many(["a", "b", "c"], max_retries=5, concurrency=2)
    by_query: dict[str, set[str | None]] = {}
    for asked, key in zip(stand_in.asked, keys(stand_in), strict=True):
        by_query.setdefault(json.loads(asked.body)["query"], set()).add(key)
    assert [len(found) for found in by_query.values()] == [1, 1, 1]
    assert len(set.union(*by_query.values())) == 3


def test_a_callers_own_idempotency_key_goes_first_and_payers_need_none(
    make: Callable[..., Any], stand_in: StandIn
) -> None:
    make(api_key="k", base_url=stand_in.url).search("a", headers={"Idempotency-Key": "mine"})
    assert keys(stand_in) == ["mine"]
    make(wallet=WALLET, base_url=stand_in.url).search("a")
    assert keys(stand_in)[1:] == [None, None]


def test_the_user_agent_has_name_and_version(make: Callable[..., Any], stand_in: StandIn) -> None:
    make(api_key="k", base_url=stand_in.url).search("a")
    agent = stand_in.asked[0].headers["user-agent"]
    assert agent.startswith(f"search402-python/{sdk.__version__} (")
    make(api_key="k", base_url=stand_in.url, headers={"User-Agent": "mine/1"}).search("a")
    assert stand_in.asked[1].headers["user-agent"] == "mine/1"


def test_retry_after_ms_goes_before_retry_after(stand_in: StandIn) -> None:
    waits: list[float] = []
    runtime = Runtime(sleep=waits.append)
    stand_in.next = [Says(429, headers={"retry-after-ms": "125", "retry-after": "60"})]
    with using(runtime), sdk.Search402(api_key="k", base_url=stand_in.url) as client:
        client.search("a")
        stand_in.next = [Says(429, headers={"retry-after-ms": "90000"})]
        with pytest.raises(sdk.RateLimitError) as caught:
            client.search("a")
    assert waits == [0.125]
    assert caught.value.retry_after_seconds == 90


@pytest.mark.parametrize(
    "wallet", ["0x" + "42" * 32, b"key", object(), type("Bare", (), {"address": "0x1"})()]
)
def test_what_is_no_wallet_is_named_and_never_repeated(
    make: Callable[..., Any], wallet: object
) -> None:
    with pytest.raises(sdk.ConfigurationError, match="wallet") as caught:
        make(wallet=wallet)
    assert "4242" not in str(caught.value)


def test_other_options_share_everything_else(make: Callable[..., Any], stand_in: StandIn) -> None:
    client = make(wallet=WALLET, base_url=stand_in.url, headers={"X-One": "1"})
    other = client.with_options(max_retries=0, headers={"X-Two": "2"})
    other = client.around(other) if isinstance(client, AsyncAsBlocking) else other
    stand_in.next = [Says(503)]
    with pytest.raises(sdk.ServerError):
        other.search("a")
    assert len(stand_in.asked) == 2
    client.search("a")
    assert len(set(stand_in.payments())) == 1
    first, *_, last = stand_in.asked
    assert (first.headers["x-one"], first.headers["x-two"]) == ("1", "2")
    assert "x-two" not in last.headers
    with pytest.raises(sdk.ConfigurationError):
        client.with_options(max_retries=99)


def test_the_spellings_of_generated_sdks_are_taken(
    make: Callable[..., Any], stand_in: StandIn
) -> None:
    client = make(api_key="k", base_url=stand_in.url, default_headers={"X-One": "1"})
    client.search("a", extra_headers={"X-Two": "2"})
    other = client.with_options(default_headers={"X-Three": "3"})
    other = client.around(other) if isinstance(client, AsyncAsBlocking) else other
    other.search("a")
    first, second = (asked.headers for asked in stand_in.asked)
    assert (first["x-one"], first["x-two"]) == ("1", "2")
    assert (second["x-one"], second["x-three"]) == ("1", "3")
    with pytest.raises(sdk.ConfigurationError, match="are one argument"):
        make(api_key="k", headers={}, default_headers={})
    with pytest.raises(sdk.ConfigurationError, match="are one argument"):
        client.with_options(headers={}, default_headers={})
    with pytest.raises(sdk.ConfigurationError, match="are one argument"):
        client.search("a", headers={}, extra_headers={})


def test_a_raw_response_has_what_stood_around_the_answer(stand_in: StandIn) -> None:
    with sdk.Search402(api_key="k", base_url=stand_in.url) as client:
        raw = client.with_raw_response.search("a", max_results=3)
        assert (raw.status_code, raw.tries, raw.parse()) == (200, 1, raw.data)
        assert "content-length" in raw.headers
        assert json.loads(stand_in.asked[0].body) == {"query": "a", "maxResults": 3}
        stand_in.next = [Says(401, "invalid_api_key")]
        with pytest.raises(sdk.AuthenticationError) as caught:
            client.with_raw_response.search("a")
        assert caught.value.status_code == 401

    async def search() -> sdk.SearchOutcome:
        async with sdk.AsyncSearch402(api_key="k", base_url=stand_in.url) as client:
            return await client.with_raw_response.search("a")

    assert asyncio.run(search()).status_code == 200


@pytest.mark.parametrize(
    ("ahead", "text"),
    [(-3600, "60 minutes behind"), (86_400, "1440 minutes ahead of"), (300, None)],
)
def test_a_clock_that_is_far_wrong_is_named_where_a_payment_fails_for_it(
    make: Callable[..., Any], stand_in: StandIn, ahead: int, text: str | None
) -> None:
    runtime = Runtime(now_ms=lambda: int(time.time() + ahead) * 1000)
    client = make(wallet=WALLET, base_url=stand_in.url, runtime=runtime)
    reason = "invalid_exact_evm_payload_authorization_valid_before"
    stand_in.next = [stand_in.challenge("payment_invalid", reason)] * 2
    with pytest.raises(sdk.PaymentRequiredError) as caught:
        client.search("a")
    if text is None:
        assert "clock" not in str(caught.value)
    else:
        assert f"This machine's clock is {text} the service's" in str(caught.value)


def test_no_constructor_has_an_argument_of_ours() -> None:
    classes = [name for name in sdk.__all__ if isinstance(getattr(sdk, name), type)]
    for name in classes:
        init = vars(getattr(sdk, name)).get("__init__")
        if inspect.isfunction(init):
            names = inspect.signature(init).parameters
            assert [one for one in names if one.startswith("_")] == [], name


def test_errors_can_be_pickled_and_shown_as_dicts(
    make: Callable[..., Any], stand_in: StandIn
) -> None:
    client = make(wallet=WALLET, base_url=stand_in.url)
    stand_in.next = [Says(403, "account_suspended", headers={"x-request-id": "r1"})]
    with pytest.raises(sdk.PermissionDeniedError) as caught:
        client.search("a")
    capped = make(
        wallet=WALLET,
        base_url=stand_in.url,
        payment=sdk.PaymentOptions(max_per_request=1, store=sdk.MemoryStore()),
    )
    with pytest.raises(sdk.CapExceededError) as exceeded:
        capped.search("a")
    for error in (caught.value, exceeded.value, sdk.ConfigurationError("no")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.to_dict() == error.to_dict()
        assert json.loads(json.dumps(error.to_dict())) == error.to_dict()
    shown = caught.value.to_dict()
    assert (shown["error"], shown["code"]) == ("PermissionDeniedError", "account_suspended")
    assert (shown["requestId"], shown["payment"]["status"]) == ("r1", "refused")
    assert exceeded.value.to_dict()["limitUnits"] == 1


def test_answers_can_be_shown_as_dicts(make: Callable[..., Any], stand_in: StandIn) -> None:
    client = make(wallet=WALLET, base_url=stand_in.url)
    outcome = client.search_with_response("a")
    assert outcome.data.to_dict()["result"]["searchMetadata"] == {"executionTime": 0.5}
    assert outcome.data.to_dict()["requestId"] == "r"
    assert outcome.to_dict()["payment"]["amountUnits"] == 50
    assert client.quote().to_dict()["payTo"] == "0x" + "11" * 20
    assert client.spent().to_dict() == {"dayUnits": 50, "totalUnits": 50}
    stand_in.next = [Says(403)]
    many = client.search_many(["b", "c"], concurrency=1).to_dict()
    assert many["failures"]["b"]["error"] == "PermissionDeniedError"
    assert many["results"][0]["foundBy"] == [{"query": "c", "rank": 1}]
    assert json.dumps(many) and json.dumps(outcome.to_dict())


def test_a_record_shown_as_a_dict_holds_nothing_to_spend() -> None:
    store = sdk.MemoryStore()
    record = sdk.PaymentRecord(
        "0x1", "open", "u", "n", "a", "p", "t", 1, 1, 1, body="secret", header="secret"
    )
    store.reserve(record, lambda _: None)
    assert "secret" not in json.dumps(store.list()[0].to_dict())


def printed(level: str | None, program: str) -> str:
    """Return what a program of its own prints to the standard error."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    environment.pop("SEARCH402_LOG", None)
    if level is not None:
        environment["SEARCH402_LOG"] = level
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stderr


def test_debug_logging_prints_and_is_printed_once() -> None:
    said = "from search402._log import logger; logger.debug('hello s402_live_0123456789')"
    assert "search402 DEBUG hello [redacted]" in printed("debug", said)
    assert printed(None, said) == ""
    root = f"import logging; logging.basicConfig(level=10); {said}"
    assert printed("debug", root).count("hello") == 1
    assert logging.getLogger("search402").handlers == []
