from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import GOOD_KEY, World

import search402 as sdk

RETRIED: list[dict[str, Any]] = [
    {"kind": "drop-before"},
    {"kind": "drop-after"},
    {"kind": "cut-body"},
    *({"kind": "status", "status": status} for status in (408, 429, 500, 502, 503, 504, 599)),
]


def test_a_search_sends_only_what_was_given(world: World) -> None:
    answer = world.client(api_key=GOOD_KEY).search("kestrel cliffs", max_results=2)
    assert [item.title for item in answer.result.results] == [
        "kestrel cliffs 1",
        "kestrel cliffs 2",
    ]
    assert answer.result.total_results == 2
    assert json.loads(world.seen[0]["body"]) == {"query": "kestrel cliffs", "maxResults": 2}


def test_status_headers_and_tries_are_shown_on_request(world: World) -> None:
    world.steer(faults=[{"kind": "drop-before"}])
    raw = world.client(api_key=GOOD_KEY).search_with_response("kestrel")
    assert (raw.status, raw.tries, raw.payment) == (200, 2, None)
    assert "application/json" in raw.headers["Content-Type"]


def test_key_and_address_come_from_the_environment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH402_API_KEY", GOOD_KEY)
    monkeypatch.setenv("SEARCH402_BASE_URL", f"{world.url}/")
    assert world.client(wallet=None, base_url=None).search("kestrel").request_id


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": "a", "wallet": sdk.PrivateKeySigner("11" * 32)},
        {"api_key": "two words"},
        {"api_key": "a", "base_url": "nowhere"},
        {"api_key": "a", "base_url": "https://user:secret@example.com"},
        {"api_key": "a", "max_retries": -1},
        {"api_key": "a", "max_retries": 11},
        {"api_key": "a", "timeout": 0},
        {"api_key": "a", "payment": sdk.PaymentOptions()},
        {"payment": sdk.PaymentOptions(max_total="1 dollar")},
        {"payment": sdk.PaymentOptions(max_per_day=-1)},
    ],
)
def test_options_that_cannot_be_right_are_refused(world: World, options: dict[str, Any]) -> None:
    with pytest.raises(sdk.ConfigurationError):
        world.client(**options)


@pytest.mark.parametrize("fault", RETRIED, ids=str)
def test_two_retries_by_default(world: World, fault: dict[str, Any]) -> None:
    client = world.client(api_key=GOOD_KEY)
    world.steer(faults=[fault, fault])
    client.search("kestrel")
    assert len(world.seen) == 3
    assert world.waits == [0.5, 1.0]
    world.steer(faults=[fault, fault, fault, {"kind": "pass"}])
    with pytest.raises(sdk.Search402Error):
        client.search("kestrel")
    assert len(world.seen) == 6


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 301])
def test_other_statuses_are_never_retried(world: World, status: int) -> None:
    world.steer(faults=[{"kind": "status", "status": status}])
    with pytest.raises(sdk.APIError) as caught:
        world.client(api_key=GOOD_KEY).search("kestrel")
    assert caught.value.status == status
    assert len(world.seen) == 1


def test_retries_are_counted_per_request_before_per_client(world: World) -> None:
    lazy = world.client(api_key=GOOD_KEY, max_retries=0)
    world.steer(faults=[{"kind": "drop-before"}])
    with pytest.raises(sdk.APIConnectionError):
        lazy.search("kestrel")
    assert len(world.seen) == 1
    world.steer(faults=[{"kind": "drop-before"}] * 5)
    lazy.search("kestrel", max_retries=5)
    assert len(world.seen) == 7


def test_waits_grow_to_eight_seconds_and_lose_up_to_a_quarter(world: World) -> None:
    world.steer(faults=[{"kind": "status", "status": 500}] * 6)
    client = world.client(api_key=GOOD_KEY, max_retries=6, runtime={"random": lambda: 1.0})
    client.search("kestrel")
    assert world.waits == [0.375, 0.75, 1.5, 3.0, 6.0, 6.0]


def test_retry_after_is_obeyed_as_seconds_and_as_a_date(world: World) -> None:
    date = datetime.now(timezone.utc) + timedelta(seconds=20)
    world.steer(
        faults=[
            {"kind": "status", "status": 429, "retryAfter": "7"},
            {"kind": "status", "status": 503, "retryAfter": format_datetime(date, usegmt=True)},
        ]
    )
    world.client(api_key=GOOD_KEY).search("kestrel")
    assert world.waits[0] == 7
    assert 18 <= world.waits[1] <= 20


def test_a_long_retry_after_is_told_and_not_waited_for(world: World) -> None:
    world.steer(faults=[{"kind": "status", "status": 429, "retryAfter": "3600"}])
    with pytest.raises(sdk.RateLimitError) as caught:
        world.client(api_key=GOOD_KEY).search("kestrel")
    assert caught.value.retry_after_seconds == 3600
    assert len(world.seen) == 1


def test_a_body_that_does_not_arrive_in_time_is_a_timeout(world: World) -> None:
    world.steer(faults=[{"kind": "slow-body", "ms": 20000}] * 2)
    with pytest.raises(sdk.APITimeoutError):
        world.client(api_key=GOOD_KEY, timeout=1.5, max_retries=1).search("kestrel")
    assert len(world.seen) == 2


def test_errors_carry_what_the_service_said(world: World) -> None:
    with pytest.raises(sdk.AuthenticationError) as caught:
        world.client(api_key="s402_test_wrong").search("kestrel")
    error = caught.value
    assert (error.status, error.code, error.title) == (401, "invalid_api_key", "invalid_api_key")
    assert error.request_id is not None and len(error.request_id) == 36
    assert "refused with invalid_api_key" in str(error)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("malformed_request", sdk.BadRequestError),
        ("insufficient_credits", sdk.PaymentRequiredError),
        ("plan_restricted", sdk.PermissionDeniedError),
        ("not_found", sdk.NotFoundError),
        ("method_not_allowed", sdk.MethodNotAllowedError),
        ("request_timeout", sdk.RequestTimeoutError),
        ("payment_identifier_conflict", sdk.ConflictError),
        ("payload_too_large", sdk.PayloadTooLargeError),
        ("unsupported_media_type", sdk.UnsupportedMediaTypeError),
        ("unsupported_parameter", sdk.UnprocessableContentError),
        ("rate_limited", sdk.RateLimitError),
        ("internal_error", sdk.ServerError),
        ("settlement_pending", sdk.SettlementPendingError),
    ],
)
def test_errors_have_a_class_for_each_status(
    world: World, code: str, kind: type[sdk.APIError]
) -> None:
    world.steer(moves=[{"code": code, "retryAfter": 99}])
    with pytest.raises(kind) as caught:
        world.client(api_key=GOOD_KEY).search("kestrel")
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.retry_after_seconds) == (code, 99)
    assert code in sdk.ERROR_CODES


def test_the_codes_are_exactly_those_of_the_service() -> None:
    document = json.loads((Path(__file__).parents[3] / "docs/openapi.json").read_text())
    error = document["components"]["schemas"]["ErrorResponse"]["properties"]
    assert sorted(sdk.ERROR_CODES) == sorted(error["code"]["enum"])


def test_the_log_never_shows_a_key_or_a_signed_payment(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "search402"):
        world.steer(faults=[{"kind": "drop-before"}])
        world.client(api_key=GOOD_KEY).search("kestrel")
        world.steer(moves=["expired"])
        world.client().search("falcon")
        logging.getLogger("search402").warning("leak %s", f"Bearer {GOOD_KEY}")
    text = caplog.text
    assert "retry 1" in text and "the payment was not taken" in text
    assert GOOD_KEY not in text
    for seen in world.seen:
        assert seen.get("payment", "absent") not in text


def test_search_many_merges_by_reciprocal_rank(world: World) -> None:
    merged = world.client(api_key=GOOD_KEY).search_many(["a", "b", "b"], max_results=2)
    assert [(page.url, page.score) for page in merged.results] == [
        ("https://example.com/shared", 2 / 61),
        ("https://example.com/a/2", 1 / 62),
        ("https://example.com/b/2", 1 / 62),
    ]
    assert merged.results[0].found_by == (sdk.FoundBy("a", 1), sdk.FoundBy("b", 1))
    assert len(world.seen) == 2


def test_search_many_spends_max_characters_on_the_best_pages(world: World) -> None:
    client = world.client(api_key=GOOD_KEY)
    queries = list("abcdefgh")

    def size(pages: Sequence[sdk.MergedResult]) -> int:
        return sum(len(page.title) + len(page.url) + len(page.description) for page in pages)

    whole = client.search_many(queries).results
    some = client.search_many(queries, max_characters=700).results
    assert size(whole) > 700 >= size(some)
    assert some[:-1] == whole[: len(some) - 1]
    with pytest.raises(sdk.ConfigurationError):
        client.search_many(queries, max_characters=499)


def test_search_many_names_what_failed_and_raises_only_when_all_did(world: World) -> None:
    client = world.client(api_key=GOOD_KEY)
    world.steer(faults=[{"kind": "status", "status": 403}])
    some = client.search_many(["a", "b"], concurrency=1)
    assert (list(some.failures), list(some.responses)) == (["a"], ["b"])
    world.steer(faults=[{"kind": "status", "status": 403}] * 2)
    with pytest.raises(sdk.PermissionDeniedError):
        client.search_many(["a", "b"])
    with pytest.raises(sdk.ConfigurationError):
        client.search_many([])
