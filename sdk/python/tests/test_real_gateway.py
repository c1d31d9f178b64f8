"""The clients on the real service with a local chain, through the fault proxy."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import CONTROL, SERVER, World

import search402 as sdk
from search402._runtime import Runtime

PASS = {"kind": "pass"}
#: What can happen to an answer; the TypeScript client meets the same.
FAULTS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[3] / "test/vectors/faults.json").read_text()
)


def patience(fault: dict[str, Any]) -> float:
    """Long enough for a busy machine; short only where waiting is what is tried."""
    return 5.0 if fault["kind"] == "slow-body" else 60.0


class RealWorld(World):
    """Like a World; the gateway is the real one, and transfers are the chain's own logs."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        made = CONTROL.post(f"{SERVER}/real", timeout=120).json()
        self.url = made["url"]
        self.dev: dict[str, str] = made["dev"]
        self._control = f"{SERVER}/worlds/{made['id']}"
        self.wallet = sdk.PrivateKeySigner(self.dev["payerPrivateKey"])
        self._before = CONTROL.get(self._control).json()

    def client(self, **options: Any) -> Any:
        # Time is real here: settling takes some.
        runtime = Runtime()
        real = {"sleep": runtime.sleep, "sleep_async": runtime.sleep_async}
        return super().client(runtime=real, **options)

    @property
    def seen(self) -> list[dict[str, Any]]:
        return super().seen[len(self._before["seen"]) :]

    @property
    def transfers(self) -> list[Any]:
        return super().transfers[len(self._before["transfers"]) :]


@pytest.fixture(params=["blocking", "async"])
def real(request: pytest.FixtureRequest) -> Iterator[RealWorld]:
    world = RealWorld(request.param)
    yield world
    world.close()


def test_a_key_searches_and_errors_are_typed(real: RealWorld) -> None:
    keyed = real.client(api_key=real.dev["apiKey"])
    found = keyed.search("lighthouse lamp", max_results=1, max_description_length=1000)
    assert found.result.results[0].url == "https://pages.example/lighthouse"
    with pytest.raises(sdk.AuthenticationError) as caught:
        real.client(api_key="s402_live_wrong").search("x")
    assert caught.value.code == "invalid_api_key"
    with pytest.raises(sdk.UnprocessableContentError):
        keyed.search("x", max_results=21)


def test_a_paid_search_is_one_transfer_that_the_receipt_names(real: RealWorld) -> None:
    client = real.client(payment=sdk.PaymentOptions(payees=[real.dev["payTo"]]))
    outcome = client.search_with_response("bread")
    assert outcome.payment is not None
    assert real.transfers == [outcome.payment.transaction]


@pytest.mark.parametrize(
    "fault",
    [PASS, {"kind": "drop-after"}, {"kind": "status-after", "status": 403}],
    ids=str,
)
def test_a_pack_is_one_transfer_and_its_key_searches(
    real: RealWorld, fault: dict[str, Any]
) -> None:
    real.steer(faults=[PASS, fault])
    pack = real.client().buy_pack()
    assert (pack.searches, pack.amount_usd) == (1000, "0.05")
    assert pack.payment is not None and real.transfers == [pack.payment.transaction]
    found = real.client(api_key=pack.key).search("lighthouse", max_results=1)
    assert len(found.result.results) == 1


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_at_the_paid_try_is_paid_once(real: RealWorld, fault: dict[str, Any]) -> None:
    real.steer(faults=[PASS, fault])
    options = sdk.PaymentOptions(max_total=100)
    client = real.client(timeout=patience(fault), payment=options)
    started = time.monotonic()
    client.search(f"tides {real.kind} {fault}")
    assert len(real.seen) == 3
    assert real.signatures() == 1
    assert len(real.transfers) == 1
    assert client.spent().total_units == 50
    assert time.monotonic() - started > float(fault.get("retryAfter", 0))


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault["kind"] in ("drop-before", "status")], ids=str
)
def test_a_fault_while_the_price_is_asked_for_is_paid_once(
    real: RealWorld, fault: dict[str, Any]
) -> None:
    real.steer(faults=[fault])
    real.client(timeout=patience(fault)).search(f"door {real.kind} {fault}")
    assert len(real.seen) == 3
    assert real.signatures() == 1
    assert len(real.transfers) == 1


def test_a_process_that_stops_after_paying_gets_its_results_later(
    real: RealWorld, tmp_path: Path
) -> None:
    options = sdk.PaymentOptions(store=sdk.FileStore(tmp_path / "payments.sqlite"))
    real.steer(faults=[PASS, {"kind": "drop-after"}])
    with pytest.raises(sdk.APIConnectionError):
        real.client(payment=options, max_retries=0).search("sourdough starter")
    again = sdk.PaymentOptions(store=sdk.FileStore(tmp_path / "payments.sqlite"))
    outcome = real.client(payment=again).search_with_response("sourdough starter")
    assert outcome.tries == 1
    assert outcome.data.result.total_results > 0
    assert real.signatures() == 1
    assert len(real.transfers) == 1


def test_a_payer_is_told_what_became_of_its_payment(real: RealWorld) -> None:
    client = real.client()
    paid = client.search_with_response("bread").payment
    state = client.payment_state(paid.id)
    assert (state.status, state.transaction) == ("settled", paid.transaction)
    assert (state.payer, state.nonce) == (real.dev["payerAddress"].lower(), paid.id)
    assert (state.may_be_charged, state.replayable) == (True, True)
    assert real.transfers == [paid.transaction]


def test_a_reply_that_a_proxy_withholds_is_fetched_with_a_proof(real: RealWorld) -> None:
    real.steer(faults=[PASS, {"kind": "status-after", "status": 403}])
    client = real.client()
    outcome = client.search_with_response("lighthouse")
    assert outcome.data.result.results[0].url == "https://pages.example/lighthouse"
    assert outcome.payment.status == "paid"
    # Two searches; the question about the payment and the one for its reply carry no payment.
    assert ["payment" in seen for seen in real.seen] == [False, True, False, False]
    assert real.transfers == [outcome.payment.transaction]
    assert client.spent().total_units == 50


def test_answers_that_are_lost_cost_one_credit(real: RealWorld) -> None:
    key = {"authorization": f"Bearer {real.dev['apiKey']}"}

    def spent() -> int:
        account = CONTROL.get(f"{real.url}/account", headers=key).json()
        return int(account["credits"]["spent"])

    before = spent()
    real.steer(faults=[{"kind": "drop-after"}, {"kind": "status-after", "status": 502}])
    outcome = real.client(api_key=real.dev["apiKey"]).search_with_response("lighthouse")
    assert outcome.tries == 3
    assert outcome.data.result.results[0].url == "https://pages.example/lighthouse"
    assert spent() - before == 1


def test_twelve_searches_under_a_cap_for_five_are_five_transfers(real: RealWorld) -> None:
    client = real.client(payment=sdk.PaymentOptions(max_total=250))
    queries = [f"lighthouse keeper {real.kind} {i}" for i in range(12)]
    outcome = client.search_many(queries, concurrency=12)
    assert (len(outcome.responses), len(outcome.failures)) == (5, 7)
    assert real.signatures() == 5
    assert len(real.transfers) == 5


def test_twelve_searches_stay_under_that_cap_while_connections_are_lost(real: RealWorld) -> None:
    client = real.client(payment=sdk.PaymentOptions(max_total=250), max_retries=10)
    lost = [{"kind": "drop-after"}, {"kind": "status-after", "status": 502}]
    real.steer(faults=lost * 5)
    outcome = client.search_many([f"lamp {real.kind} {i}" for i in range(12)], concurrency=12)
    assert (len(outcome.responses), len(outcome.failures)) == (5, 7)
    assert real.signatures() == 5
    assert len(real.transfers) == 5


def test_an_empty_wallet_is_told_why_and_signs_once(real: RealWorld) -> None:
    client = real.client(wallet=sdk.PrivateKeySigner("77" * 32))
    with pytest.raises(sdk.PaymentRequiredError) as caught:
        client.search("bread")
    assert caught.value.code == "payment_invalid"
    assert "insufficient" in (caught.value.reason or "")
    assert (len(real.seen), real.signatures(), real.transfers) == (2, 1, [])
