"""Packs: one payment, and a key for many searches."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from stand_in import DROP, PAID, Says, StandIn

import search402 as sdk

WALLET = sdk.PrivateKeySigner("42" * 32)
PACK = {"id": "p1", "searches": 1000, "amountUsd": "0.05", "expiresAt": "2027-11-22T10:00:00.000Z"}
SOLD = Says(200, body={"requestId": "r1", "key": "s402_live_k", "pack": PACK}, headers=PAID)
Make = Callable[..., Any]


def client_at(make: Make, stand_in: StandIn, **options: Any) -> Any:
    """Make a client that pays out of memory."""
    options.setdefault("store", sdk.MemoryStore())
    return make(wallet=WALLET, base_url=stand_in.url, payment=sdk.PaymentOptions(**options))


def test_a_pack_is_one_payment_and_a_key_that_is_not_shown(make: Make, stand_in: StandIn) -> None:
    stand_in.amount = "50000"
    stand_in.next = [SOLD]
    client = client_at(make, stand_in)
    pack = client.buy_pack()
    assert (pack.id, pack.key, pack.searches, pack.request_id) == ("p1", "s402_live_k", 1000, "r1")
    assert (pack.amount_usd, pack.expires_at) == ("0.05", PACK["expiresAt"])
    assert (pack.payment.status, pack.payment.amount_units) == ("paid", 50_000)
    assert "s402_live_k" not in repr(pack)
    assert {(asked.path, asked.body) for asked in stand_in.asked} == {("/packs", "{}")}
    # It counts towards the caps of the searches.
    assert client.spent().total_units == 50_000


def test_the_size_of_a_pack_is_asked_for(make: Make, stand_in: StandIn) -> None:
    stand_in.next = [SOLD]
    client_at(make, stand_in).buy_pack(10_000)
    assert {asked.body for asked in stand_in.asked} == {'{"searches":10000}'}


def test_a_pack_costs_no_more_than_may_be_paid_ahead(make: Make, stand_in: StandIn) -> None:
    stand_in.amount = "50000"
    with pytest.raises(sdk.CapExceededError):
        client_at(make, stand_in, max_deposit="0.04").buy_pack()
    with pytest.raises(sdk.CapExceededError) as caught:
        client_at(make, stand_in, max_per_day="0.04").buy_pack()
    assert caught.value.cap == "max_per_day"
    # A search stays under its own cap.
    with pytest.raises(sdk.CapExceededError) as caught:
        client_at(make, stand_in).search("a")
    assert caught.value.cap == "max_per_request"
    assert stand_in.payments() == []


def test_a_lost_answer_is_fetched_with_the_same_payment(make: Make, stand_in: StandIn) -> None:
    stand_in.amount = "50000"
    store = sdk.MemoryStore()
    stand_in.next = [DROP, SOLD]
    with pytest.raises(sdk.APIConnectionError):
        client_at(make, stand_in, store=store).buy_pack(max_retries=0)
    pack = client_at(make, stand_in, store=store).buy_pack()
    assert (pack.key, pack.payment.status) == ("s402_live_k", "paid")
    assert len(stand_in.payments()) == 2
    assert len(set(stand_in.payments())) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"requestId": "r1", "pack": PACK},
        {"requestId": "r1", "key": "k", "pack": {**PACK, "searches": True}},
        {"requestId": "r1", "key": "k", "pack": None},
        ["k"],
    ],
    ids=json.dumps,
)
def test_what_is_no_pack_leaves_the_payment_open(
    make: Make, stand_in: StandIn, body: object
) -> None:
    stand_in.next = [Says(200, body=body, headers=PAID)]
    client = client_at(make, stand_in)
    with pytest.raises(sdk.ProtocolError, match="not a pack") as caught:
        client.buy_pack()
    assert caught.value.payment is not None and caught.value.payment.status == "open"


def test_a_client_without_a_wallet_buys_no_packs(make: Make) -> None:
    with pytest.raises(sdk.ConfigurationError):
        make(api_key="k").buy_pack()
