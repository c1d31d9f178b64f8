"""Nobody but the first payee of a service is paid without consent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_in import StandIn
from test_channels import ChannelWorld

import search402 as sdk
from search402._effects import Run
from search402._known_payees import KnownPayees

WALLET = sdk.PrivateKeySigner("42" * 32)
FIRST = "0x" + "11" * 20
STRANGER = "0x" + "22" * 20
OLD = f"was paid at {FIRST} before; nothing was signed"
Make = Callable[..., Any]


def record(url: str, **more: Any) -> sdk.PaymentRecord:
    """Return what a store keeps of a payment, to the first payee unless told otherwise."""
    fields: dict[str, Any] = {
        "id": "0x01",
        "status": "paid",
        "url": url,
        "network": sdk.BASE_MAINNET,
        "asset": sdk.BASE_USDC,
        "payer": WALLET.address.lower(),
        "pay_to": FIRST,
        "amount_units": 50,
        "created_at_ms": 0,
        "valid_before": 0,
    }
    return sdk.PaymentRecord(**{**fields, **more})


def store_with(one: sdk.PaymentRecord) -> sdk.MemoryStore:
    """Return a store that holds one payment."""
    store = sdk.MemoryStore()
    store.reserve(one, lambda _: None)
    return store


def client_at(make: Make, stand_in: StandIn, **options: Any) -> Any:
    """Make a client that opens no channels."""
    payment = sdk.PaymentOptions(max_deposit="0", **options)
    return make(wallet=WALLET, base_url=stand_in.url, payment=payment)


def test_another_payee_is_not_paid_and_not_after_a_restart(
    make: Make, stand_in: StandIn, tmp_path: Path
) -> None:
    def client() -> Any:
        return client_at(make, stand_in, store=sdk.FileStore(tmp_path / "payments.db"))

    first = client()
    first.search("a")
    stand_in.pay_to = STRANGER
    for one in (first, client()):
        with pytest.raises(sdk.PaymentNotAllowedError, match=OLD):
            one.search("b")
    stand_in.pay_to = FIRST
    first.search("b")
    assert len(stand_in.payments()) == 2


def test_another_payee_is_paid_where_the_caller_names_or_approves_it(
    make: Make, stand_in: StandIn
) -> None:
    store = sdk.MemoryStore()
    client_at(make, stand_in, store=store).search("a")
    stand_in.pay_to = STRANGER
    client_at(make, stand_in, store=store, payees=[STRANGER]).search("b")
    asked: list[str] = []

    def approve(quote: sdk.Quote) -> bool:
        asked.append(quote.pay_to)
        return True

    client_at(make, stand_in, store=store, approve=approve).search("c")
    assert asked == [STRANGER]
    assert len(stand_in.payments()) == 3
    # That was consent for those clients, not for every later one.
    with pytest.raises(sdk.PaymentNotAllowedError, match=OLD):
        client_at(make, stand_in, store=store).search("d")
    assert len(stand_in.payments()) == 3


def test_no_channel_is_opened_at_another_payee(make: Make) -> None:
    world = ChannelWorld()
    before = record(f"{world.url}/search", pay_to=STRANGER)
    client = make(**world.options(store=store_with(before)))
    with pytest.raises(sdk.PaymentNotAllowedError, match=f"was paid at {STRANGER} before"):
        client.open_channel()
    assert world.books["deposits"] == []
    assert [one.id for one in client.payments()] == ["0x01"]


def test_another_service_has_a_payee_of_its_own_and_what_was_not_signed_names_none(
    make: Make, stand_in: StandIn
) -> None:
    stand_in.pay_to = STRANGER
    others = store_with(record("https://other.example/search"))
    client_at(make, stand_in, store=others).search("a")
    unsigned = store_with(record(f"{stand_in.url}/search", status="released"))
    client_at(make, stand_in, store=unsigned).search("a")
    assert len(stand_in.payments()) == 2


def test_of_two_first_calls_at_once_only_one_payee_is_paid() -> None:
    known = KnownPayees(sdk.PaymentOptions(), sdk.MemoryStore())
    calls = [known.check("https://one.example", payee) for payee in (FIRST, STRANGER)]
    # Both read the store before either one goes on.
    assert [type(next(call)) for call in calls] == [Run, Run]
    with pytest.raises(StopIteration):
        calls[0].send([])
    with pytest.raises(sdk.PaymentNotAllowedError, match=OLD):
        calls[1].send([])
