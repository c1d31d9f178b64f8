"""What ``GET /payments/{nonce}`` says of a payment, and what the clients make of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_in import DROP, PAID, RESULT, Says, StandIn

import search402 as sdk
from search402._status import STATUS_TYPES, parse_payment_state, proof_header
from search402._wire import decode_header

WALLET = sdk.PrivateKeySigner("42" * 32)
PROXY_PAGE = Says(403)


def says(status: str, **more: Any) -> Says:
    """Return what the gateway says of any payment; clients check the nonce."""
    fields = {"payer": WALLET.address.lower(), "status": status, "replayable": False, **more}
    return Says(200, body={"mayBeCharged": True, **fields})


class Told(StandIn):
    """Puts the nonce that was asked for into what it says."""

    def hear(self, asked: Any) -> Says:
        said = super().hear(asked)
        if asked.method == "GET" and isinstance(said.body, dict) and "status" in said.body:
            return Says(200, body={**said.body, "nonce": asked.path.split("/")[2]})
        return said


@pytest.fixture
def told() -> Any:
    told = Told()
    yield told
    told.close()


def lose_then(told: StandIn, client: Any, *then: Says) -> None:
    """Lose the answer to a paid search; what the next ones say is ``then``."""
    told.next = [DROP]
    with pytest.raises(sdk.APIConnectionError):
        client.search("kestrel", max_retries=0)
    told.next = list(then)


@pytest.mark.parametrize("status", [401, 402, 403, 404, 407, 409, 451])
def test_an_answer_without_a_known_code_never_closes_a_payment(
    make: Callable[..., Any], stand_in: StandIn, status: int
) -> None:
    client = make(wallet=WALLET, base_url=stand_in.url)
    for _ in range(6):
        stand_in.next = [Says(status)]
        with pytest.raises(sdk.APIError) as caught:
            client.search("kestrel")
        assert caught.value.payment is not None and caught.value.payment.status == "open"
    client.search("kestrel")
    assert len(stand_in.payments()) == 7
    assert len(set(stand_in.payments())) == 1


def test_a_code_that_nobody_knows_is_none(make: Callable[..., Any], stand_in: StandIn) -> None:
    client = make(wallet=WALLET, base_url=stand_in.url)
    stand_in.next = [Says(403, "blocked_by_policy")]
    with pytest.raises(sdk.PermissionDeniedError):
        client.search("kestrel")
    client.search("kestrel")
    assert len(set(stand_in.payments())) == 1


def test_a_known_code_at_the_first_try_closes_it(
    make: Callable[..., Any], stand_in: StandIn
) -> None:
    client = make(wallet=WALLET, base_url=stand_in.url)
    stand_in.next = [Says(403, "account_suspended")]
    with pytest.raises(sdk.PermissionDeniedError) as caught:
        client.search("kestrel")
    assert caught.value.payment is not None and caught.value.payment.status == "refused"


def test_the_question_is_signed_for_the_origin_of_the_quote(
    make: Callable[..., Any], told: Told
) -> None:
    client = make(wallet=WALLET, base_url=told.url)
    lose_then(told, client)
    (payment,) = client.payments()
    told.state = says("pending", transaction="0xab")
    state = client.payment_state(payment.id)
    assert (state.status, state.transaction, state.nonce) == ("pending", "0xab", payment.id)
    (question,) = told.questions()
    assert question.path == f"/payments/{payment.id}"
    proof = decode_header(question.headers["payment-proof"])
    assert proof is not None and sorted(proof) == ["issuedAt", "nonce", "payer", "signature"]
    assert abs(proof["issuedAt"] - time.time()) < 60
    message = {
        "payer": WALLET.address.lower(),
        "nonce": payment.id,
        "issuedAt": proof["issuedAt"],
        "audience": "https://search.example",
    }
    domain = {"name": "search402", "version": "1", "chainId": 8453}
    assert proof["signature"] == WALLET.sign_typed_data(domain, STATUS_TYPES, message)


def test_a_reply_that_is_kept_is_fetched(make: Callable[..., Any], told: Told) -> None:
    client = make(wallet=WALLET, base_url=told.url)
    lose_then(told, client, told.challenge("payment_invalid", "invalid_exact_evm_valid_before"))
    told.state = says("settled", replayable=True, transaction="0xaa")
    told.reply = Says(200, body=RESULT, headers=PAID)
    outcome = client.search_with_response("kestrel")
    assert outcome.data.request_id == "r"
    assert (outcome.payment.status, outcome.payment.transaction) == ("paid", "0xaa")
    assert [question.path.split("/")[-1] for question in told.questions()][-1] == "reply"
    assert len(set(told.payments())) == 1


@pytest.mark.parametrize(
    ("state", "error", "status"),
    [
        (says("settled"), sdk.PaymentLostError, "paid"),
        (says("unknown", authorizationUsed=True, chainTime=1), sdk.PaymentLostError, "paid"),
        (says("pending"), sdk.PaymentRequiredError, "open"),
        (says("reserved"), sdk.PaymentRequiredError, "open"),
        (says("unknown"), sdk.PaymentRequiredError, "open"),
        (
            says("unknown", authorizationUsed=False, chainTime=1),
            sdk.PaymentRequiredError,
            "open",
        ),
        (Says(503, "chain_unavailable"), sdk.PaymentRequiredError, "open"),
        (Says(429), sdk.PaymentRequiredError, "open"),
        (DROP, sdk.PaymentRequiredError, "open"),
        (Says(404, "not_found"), sdk.PaymentLostError, "refused"),
        (Says(200, body={"status": "settled"}), sdk.PaymentLostError, "refused"),
        (PROXY_PAGE, sdk.PaymentLostError, "refused"),
    ],
    ids=lambda value: value.body and value.body["status"] if isinstance(value, Says) else None,
)
def test_nothing_new_is_signed_while_it_may_be_charged(
    make: Callable[..., Any],
    told: Told,
    state: Says,
    error: type[sdk.Search402Error],
    status: str,
) -> None:
    client = make(wallet=WALLET, base_url=told.url)
    lose_then(told, client, told.challenge("payment_invalid", "invalid_exact_evm_valid_before"))
    told.state = state
    with pytest.raises(error) as caught:
        client.search("kestrel")
    assert caught.value.payment is not None and caught.value.payment.status == status
    assert [payment.status for payment in client.payments()] == [status]
    assert len(set(told.payments())) == 1


@pytest.mark.parametrize(
    "state",
    [
        says("failed", mayBeCharged=False),
        says("released", mayBeCharged=False, authorizationUsed=False, chainTime=4_000_000_000),
        says("unknown", authorizationUsed=False, chainTime=4_000_000_000),
    ],
    ids=lambda state: state.body["status"],
)
def test_what_can_never_be_charged_is_replaced(
    make: Callable[..., Any], told: Told, state: Says
) -> None:
    client = make(wallet=WALLET, base_url=told.url)
    lose_then(told, client, told.challenge("payment_invalid", "invalid_exact_evm_valid_before"))
    told.state = state
    client.search("kestrel")
    assert [payment.status for payment in client.payments()] == ["refused", "paid"]
    # Only the gateway's word: the first one counts all the same.
    assert client.spent().total_units == 100


def test_a_proxys_answer_in_place_of_a_reply_is_no_loss(
    make: Callable[..., Any], told: Told
) -> None:
    client = make(wallet=WALLET, base_url=told.url)
    told.next = [PROXY_PAGE]
    told.state = says("settled", replayable=True)
    told.reply = Says(200, body=RESULT, headers=PAID)
    assert client.search_with_response("kestrel").payment.transaction == "0xaa"
    assert len(told.payments()) == 1


def test_what_another_payment_is_like_is_not_believed(
    make: Callable[..., Any], stand_in: StandIn
) -> None:
    client = make(wallet=WALLET, base_url=stand_in.url)
    stand_in.next = [PROXY_PAGE]
    stand_in.state = says("failed", mayBeCharged=False, nonce="0x" + "00" * 32)
    with pytest.raises(sdk.PermissionDeniedError) as caught:
        client.search("kestrel")
    assert caught.value.payment is not None and caught.value.payment.status == "open"


def test_a_wallet_is_asked_to_sign_the_question_once_in_a_call(
    make: Callable[..., Any], stand_in: StandIn
) -> None:
    client = make(wallet=WALLET, base_url=stand_in.url)
    stand_in.next = [Says(503), Says(503), PROXY_PAGE]
    with pytest.raises(sdk.PermissionDeniedError):
        client.search("kestrel")
    assert len(stand_in.questions()) == 1


def test_the_state_of_an_unknown_payment_is_not_asked_for(
    make: Callable[..., Any], stand_in: StandIn
) -> None:
    with pytest.raises(sdk.ConfigurationError):
        make(wallet=WALLET, base_url=stand_in.url).payment_state("0x01")
    with pytest.raises(sdk.ConfigurationError):
        make(api_key="k", base_url=stand_in.url).payment_state("0x01")


VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "test" / "vectors" / "payment-status.json").read_text()
)


@pytest.mark.parametrize("vector", VECTORS["proofs"], ids=lambda vector: vector["name"])
def test_proofs_have_the_bytes_that_the_gateway_expects(vector: dict[str, Any]) -> None:
    assert vector["proof"] == decode_header(vector["header"])
    assert VECTORS["types"] == STATUS_TYPES
    signer = sdk.PrivateKeySigner(vector["privateKey"])
    signature = signer.sign_typed_data(vector["domain"], STATUS_TYPES, vector["message"])
    assert signature == vector["signature"]
    assert proof_header(vector["message"], signature) == vector["header"]


def test_origins_and_states_are_read_as_the_gateway_means_them() -> None:
    from search402._status import origin_of

    for vector in VECTORS["audiences"]:
        assert origin_of(vector["resource"]) == vector["audience"]
    for vector in VECTORS["statuses"]:
        state = parse_payment_state(vector)
        assert (state.status, state.nonce) == (vector["status"], vector["nonce"])
        assert state.may_be_charged == vector["mayBeCharged"]
        if not vector["mayBeCharged"]:
            assert state.cannot_be_charged(4_000_000_000)
        if vector["status"] in ("settled", "reserved", "pending"):
            assert not state.cannot_be_charged(0)


def test_codes_of_the_vectors_are_known() -> None:
    codes = [*VECTORS["codes"].values(), *VECTORS["idempotency"]["codes"].values()]
    for entry in codes:
        assert entry["code"] in sdk.ERROR_CODES
