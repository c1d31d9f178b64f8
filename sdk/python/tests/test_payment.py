from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import CONTROL, SERVER, World

import search402 as sdk
from search402.signers import typed_data_digest

PASS = {"kind": "pass"}
LOSSES: list[dict[str, Any]] = [
    {"kind": "drop-before"},
    {"kind": "drop-after"},
    {"kind": "cut-body"},
    {"kind": "slow-body", "ms": 20000},
    *(
        {"kind": kind, "status": status}
        for status in (408, 429, 500, 502, 503, 504)
        for kind in ("status", "status-after")
    ),
]


def patience(fault: dict[str, Any]) -> float:
    """Long enough for a busy machine; short only where waiting is what is tried."""
    return 1.5 if fault["kind"] == "slow-body" else 60


def test_a_search_is_quoted_signed_paid_once_and_answered(world: World) -> None:
    told: list[str] = []
    options = sdk.PaymentOptions(on_payment=lambda payment: told.append(payment.status))
    client = world.client(payment=options)
    answer = client.search_with_response("kestrel")
    assert answer.tries == 2
    assert (answer.payment.status, answer.payment.amount_units) == ("paid", 50)
    assert answer.payment.transaction == answer.payment.id
    assert told == ["open", "paid"]
    assert len(world.transfers) == 1
    assert world.transfers[0]["from"] == world.wallet.address.lower()
    assert client.spent() == sdk.Spent(50, 50)
    assert [payment.status for payment in client.payments()] == ["paid"]


def test_a_quote_signs_nothing(world: World) -> None:
    quote = world.client().quote()
    assert (quote.amount_units, quote.amount_usd) == (50, "0.00005")
    assert world.signatures() == 0


def test_a_signer_that_refuses_sets_nothing_aside(world: World) -> None:
    class Refusing:
        address = world.wallet.address

        def sign_typed_data(self, *_: Any) -> str:
            raise RuntimeError("denied")

    client = world.client(wallet=Refusing(), payment=sdk.PaymentOptions(max_total=50))
    with pytest.raises(sdk.SigningError):
        client.search("kestrel")
    assert client.spent() == sdk.Spent(0, 0)


def test_an_async_signer_works_with_the_async_client_only(world: World) -> None:
    wallet = world.wallet

    class Remote:
        address = wallet.address

        async def sign_typed_data(self, domain: Any, types: Any, message: Any) -> bytes:
            return bytes.fromhex(wallet.sign_typed_data(domain, types, message)[2:])

    client = world.client(wallet=Remote())
    if world.kind == "async":
        client.search("kestrel")
        assert len(world.transfers) == 1
    else:
        with pytest.raises(sdk.SigningError, match="AsyncSearch402"):
            client.search("kestrel")


@pytest.mark.parametrize("fault", LOSSES, ids=str)
def test_an_unknown_outcome_is_met_with_the_same_payment(
    world: World, fault: dict[str, Any]
) -> None:
    client = world.client(timeout=patience(fault))
    world.steer(faults=[PASS, fault, fault])
    assert client.search_with_response("kestrel").tries == 4
    assert world.signatures() == 1
    assert len(world.transfers) == 1
    assert client.spent().total_units == 50


@pytest.mark.parametrize("fault", LOSSES, ids=str)
def test_an_unknown_outcome_outlives_the_call(world: World, fault: dict[str, Any]) -> None:
    client = world.client(timeout=patience(fault), max_retries=0)
    world.steer(faults=[PASS, fault])
    with pytest.raises(sdk.Search402Error) as caught:
        client.search("kestrel")
    assert caught.value.payment is not None and caught.value.payment.status == "open"
    client.search("kestrel")
    assert len(world.seen) == 3
    assert world.signatures() == 1
    assert len(world.transfers) == 1


def test_settlement_pending_is_retried_with_the_same_payment(world: World) -> None:
    client = world.client()
    world.steer(moves=["pending", "pending", "pending"])
    with pytest.raises(sdk.SettlementPendingError) as caught:
        client.search("kestrel")
    assert caught.value.payment is not None and caught.value.payment.status == "open"
    client.search("kestrel")
    assert world.signatures() == 1
    assert len(world.transfers) == 1


def test_a_payment_survives_a_restart_when_it_is_kept_in_a_file(
    world: World, tmp_path: Path
) -> None:
    path = tmp_path / "deep" / "payments.sqlite"

    def fresh() -> Any:
        options = sdk.PaymentOptions(store=sdk.FileStore(path), max_total=50)
        return world.client(max_retries=0, payment=options)

    world.steer(faults=[PASS, {"kind": "drop-after"}])
    with pytest.raises(sdk.APIConnectionError):
        fresh().search("kestrel")
    assert {os.stat(file).st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    assert fresh().search_with_response("kestrel").tries == 1
    assert world.signatures() == 1
    assert len(world.transfers) == 1
    assert [record.header for record in sdk.FileStore(path).list()] == [None]
    with pytest.raises(sdk.CapExceededError) as caught:
        fresh().search("falcon")
    assert caught.value.cap == "max_total"


def test_open_payments_can_be_resumed_and_nothing_new_is_signed(world: World) -> None:
    client = world.client(max_retries=0)
    for query, kind in (("kestrel", "drop-after"), ("falcon", "drop-before")):
        world.steer(faults=[PASS, {"kind": kind}])
        with pytest.raises(sdk.APIConnectionError):
            client.search(query)
    world.steer(moves=["expired", "expired"])
    resumed, failures = client.resume_payments()
    assert [one.data.result.results[0].title for one in resumed] == ["kestrel 1"]
    assert len(failures) == 1
    assert world.signatures() == 2


def test_an_answer_of_a_server_without_books_is_not_believed(world: World) -> None:
    client = world.client(max_retries=1)
    world.steer(faults=[PASS, {"kind": "drop-after"}, {"kind": "status", "status": 402}])
    with pytest.raises(sdk.PaymentRequiredError) as caught:
        client.search("kestrel")
    assert caught.value.payment is not None and caught.value.payment.status == "open"
    client.search("kestrel")
    assert world.signatures() == 1
    assert len(world.transfers) == 1


def test_an_outcome_that_can_no_longer_be_learned_is_not_paid_again_within_the_call(
    world: World,
) -> None:
    client = world.client(max_retries=0)
    world.steer(faults=[PASS, {"kind": "drop-before"}], moves=["expired"])
    with pytest.raises(sdk.APIConnectionError):
        client.search("kestrel")
    with pytest.raises(sdk.PaymentLostError):
        client.search("kestrel")
    assert world.signatures() == 1
    assert client.spent().total_units == 50
    client.search("kestrel")
    assert world.signatures() == 2


@pytest.mark.parametrize("move", ["expired", "fail"])
def test_a_refused_payment_is_replaced_once(world: World, move: str) -> None:
    client = world.client()
    world.steer(moves=[move])
    assert client.search_with_response("kestrel").tries == 3
    assert [payment.status for payment in client.payments()] == ["refused", "paid"]
    assert len(world.transfers) == 1
    world.steer(moves=["fail"] * 4)
    with pytest.raises(sdk.PaymentRequiredError) as caught:
        client.search("falcon")
    assert caught.value.code == "settlement_failed"
    assert world.signatures() == 4


def test_a_refused_payment_is_not_replaced_when_that_cannot_help(world: World) -> None:
    world.steer(moves=["poor"])
    with pytest.raises(sdk.PaymentRequiredError) as caught:
        world.client().search("kestrel")
    assert caught.value.reason == "invalid_exact_evm_insufficient_balance"
    assert world.signatures() == 1


def test_a_payment_that_was_used_on_chain_counts_as_paid(world: World) -> None:
    client = world.client()
    world.steer(moves=["forget"])
    with pytest.raises(sdk.PaymentLostError) as caught:
        client.search("kestrel")
    assert caught.value.payment is not None and caught.value.payment.status == "paid"
    assert len(world.transfers) == 1


def test_one_payment_has_a_cap(world: World) -> None:
    world.steer(terms={"amount": "1001"})
    with pytest.raises(sdk.CapExceededError) as caught:
        world.client().search("kestrel")
    assert (caught.value.cap, caught.value.limit_units) == ("max_per_request", 1_000)
    assert world.signatures() == 0


def test_a_hundred_searches_under_a_total_for_ten_pay_ten(world: World) -> None:
    client = world.client(payment=sdk.PaymentOptions(max_total="0.0005"))
    outcome = client.search_many([f"query {i}" for i in range(100)], concurrency=20)
    assert (len(outcome.responses), len(outcome.failures)) == (10, 90)
    assert len(world.transfers) == 10
    assert world.signatures() == 10


def test_ten_threads_with_one_search_share_one_payment(world: World) -> None:
    if world.kind == "async":
        pytest.skip("threads are for the blocking client")
    wallet = world.wallet

    class Slow:
        address = wallet.address

        def sign_typed_data(self, *data: Any) -> str:
            # All ten have asked for the price by then, and none is answered for a while after.
            while len(world.seen) < 10:
                time.sleep(0.02)
            return wallet.sign_typed_data(*data)

    client = world.client(wallet=Slow())
    world.steer(faults=[PASS] * 10 + [{"kind": "slow-body", "ms": 2000}] * 10)
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(client.search, ["kestrel"] * 10))
    assert len({answer.request_id for answer in answers}) == 1
    assert len(world.transfers) == 1


def test_caps_hold_against_a_gateway_that_lies(world: World) -> None:
    client = world.client(payment=sdk.PaymentOptions(max_total=200))
    world.steer(moves=["lie"] * 50)
    for i in range(10):
        with pytest.raises(sdk.Search402Error):
            client.search(f"query {i}")
    assert sum(transfer["amountUnits"] for transfer in world.transfers) == 200
    assert world.signatures() == 4


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        ({"network": "eip155:84532"}, "network eip155:84532"),
        ({"asset": "0x" + "22" * 20}, "asset 0x2222"),
        ({"extra": {"name": "Other Coin", "version": "2"}}, 'names the token "Other Coin"'),
        ({"scheme": "upto"}, "no payment method this package supports"),
        ({"amount": "0x10"}, "no payment method this package supports"),
    ],
)
def test_allow_lists_refuse_by_default(world: World, terms: dict[str, Any], reason: str) -> None:
    world.steer(terms=terms)
    with pytest.raises(sdk.PaymentNotAllowedError, match=reason):
        world.client().search("kestrel")
    assert world.signatures() == 0


def test_a_listed_payee_is_paid_and_any_other_is_not(world: World) -> None:
    world.client(payment=sdk.PaymentOptions(payees=["0x" + "11" * 20])).search("kestrel")
    with pytest.raises(sdk.PaymentNotAllowedError):
        world.client(payment=sdk.PaymentOptions(payees=["0x" + "22" * 20])).search("kestrel")
    assert len(world.transfers) == 1


def test_the_caller_is_asked_before_each_signature(world: World) -> None:
    with pytest.raises(sdk.PaymentError):
        world.client(payment=sdk.PaymentOptions(approve=lambda _: False)).search("kestrel")
    assert world.signatures() == 0


def test_a_clock_that_is_minutes_wrong_pays_by_the_clock_of_the_server(world: World) -> None:
    late = {"now_ms": lambda: int(time.time() * 1000) - 600_000}
    world.client(runtime=late).search("kestrel")
    assert len(world.transfers) == 1


def test_signatures_are_byte_for_byte_those_of_viem() -> None:
    for _ in range(25):
        key = random.randbytes(32).hex()
        signer = sdk.PrivateKeySigner(key)
        domain = {
            "name": "USD Coin",
            "version": "2",
            "chainId": 8453,
            "verifyingContract": sdk.BASE_USDC,
        }
        message: dict[str, Any] = {
            "from": signer.address,
            "to": "0x" + random.randbytes(20).hex(),
            "value": random.randrange(10**30),
            "validAfter": 0,
            "validBefore": 1_900_000_000,
            "nonce": "0x" + random.randbytes(32).hex(),
        }
        from search402._wire import TRANSFER_TYPES

        typed = {
            "domain": domain,
            "types": TRANSFER_TYPES,
            "primaryType": "TransferWithAuthorization",
            "message": {**message, "value": str(message["value"])},
        }
        body = {"privateKey": f"0x{key}", "typedData": typed}
        theirs = CONTROL.post(f"{SERVER}/sign", json=body).json()["signature"]
        assert signer.sign_typed_data(domain, TRANSFER_TYPES, message) == theirs
        assert len(typed_data_digest(domain, TRANSFER_TYPES, message)) == 32


@pytest.mark.parametrize("text", ["", "0x12", "00" * 32, "ff" * 32, "g" * 64])
def test_a_private_key_that_is_none_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(sdk.ConfigurationError) as caught:
        sdk.PrivateKeySigner(text)
    assert str(caught.value) == "the private key must be 32 bytes of hex"


def test_text_that_cannot_be_sent_is_refused(world: World) -> None:
    with pytest.raises(sdk.ConfigurationError):
        world.client().search("half of a pair: \ud83d")


@pytest.mark.parametrize("text", ["", "1.0000001", "-1", "1e3", ".5", "0x10", "1 "])
def test_money_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        sdk.parse_money(text)


def test_money_is_exact() -> None:
    assert sdk.parse_money("0.00005") == 50
    assert sdk.parse_money("$12") == 12_000_000
    assert sdk.parse_money(7) == 7
    assert sdk.format_usd(50) == "0.00005"
    assert sdk.format_usd(12_000_000) == "12"
