"""The vectors that gateway and SDKs share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

import search402 as sdk
from search402._channel_answer import believe
from search402._channel_book import Book, InFlight
from search402._channel_terms import (
    DEPOSIT_TYPES,
    VOUCHER_TYPES,
    ChannelTerms,
    Deposit,
    SignedVoucher,
    channel_id_of,
    deposit_message,
    deposit_nonce,
    is_own_voucher,
    read_terms,
    refund_header,
    settlement_domain,
    voucher_header,
    voucher_message,
)
from search402._wire import (
    TRANSFER_TYPES,
    Requirement,
    decode_header,
    payment_header,
    read_challenge,
    read_common,
    read_receipt,
)
from search402.signers import typed_data_digest

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "test" / "vectors" / "x402.json").read_text()
)


@pytest.mark.parametrize("vector", VECTORS["authorizations"], ids=lambda vector: vector["name"])
def test_signing(vector: dict[str, Any]) -> None:
    numbers = ("value", "validAfter", "validBefore")
    message = {
        name: int(value) if name in numbers else value
        for name, value in vector["authorization"].items()
    }
    assert (
        "0x" + typed_data_digest(vector["domain"], TRANSFER_TYPES, message).hex()
        == vector["digest"]
    )
    signer = sdk.PrivateKeySigner(vector["privateKey"])
    assert signer.address == vector["authorization"]["from"]
    signature = signer.sign_typed_data(vector["domain"], TRANSFER_TYPES, message)
    assert signature == vector["signature"]
    quote = sdk.Quote(0, "", "", "", "", 0)
    payment = vector["payment"]
    requirement = Requirement(quote, 0, "", "", payment["accepted"], payment["resource"])
    assert decode_header(payment_header(requirement, message, signature)) == payment


def test_challenges_and_receipts_are_read() -> None:
    for vector in VECTORS["challenges"]:
        challenge = read_challenge({"payment-required": vector["header"]})
        assert challenge is not None
        assert [one.quote.amount_units for one in challenge.requirements] == [50]
        assert challenge.error == vector["object"].get("error")
    for vector in VECTORS["receipts"]:
        receipt = read_receipt({"payment-response": vector["header"]})
        assert receipt is not None
        assert receipt.success == vector["object"]["success"]
        assert receipt.transaction == vector["object"]["transaction"]
        assert receipt.reason == vector["object"].get("errorReason")


CHANNELS: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "docs" / "vectors" / "batch-settlement.json").read_text()
)
WIRE = CHANNELS["wire"]
_COMMON = cast("Requirement", read_common(WIRE["accepted"], WIRE["resource"]))
TERMS = cast("ChannelTerms", read_terms(_COMMON))


@pytest.mark.parametrize("vector", CHANNELS["channels"], ids=lambda vector: vector["name"])
def test_channels_are_signed(vector: dict[str, Any]) -> None:
    chain_id, channel_id, config = vector["chainId"], vector["channelId"], vector["config"]
    assert channel_id_of(config, chain_id) == channel_id
    signer = sdk.PrivateKeySigner(vector["voucherKey"])
    domain = settlement_domain(chain_id)
    for voucher in vector["vouchers"]:
        value, signature = int(voucher["maxClaimableAmount"]), voucher["signature"]
        message = voucher_message(channel_id, value)
        digest = typed_data_digest(domain, VOUCHER_TYPES, message)
        assert "0x" + digest.hex() == voucher["digest"]
        assert signer.sign_typed_data(domain, VOUCHER_TYPES, message) == signature
        assert is_own_voucher(config["payerAuthorizer"], chain_id, channel_id, value, signature)
        assert not is_own_voucher(config["receiver"], chain_id, channel_id, value, signature)
    deposit = vector["deposit"]
    assert deposit_nonce(channel_id, deposit["salt"]) == deposit["nonce"]
    if chain_id == TERMS.common.chain_id:
        drafted = Deposit(int(deposit["amount"]), int(deposit["validBefore"]), deposit["salt"])
        token, message = deposit_message(TERMS, channel_id, config["payer"], drafted)
        payer = sdk.PrivateKeySigner(vector["payerKey"])
        assert payer.sign_typed_data(token, DEPOSIT_TYPES, message) == deposit["signature"]


def test_channel_headers_are_the_bytes_that_everybody_sends() -> None:
    vector = CHANNELS["channels"][0]
    config, deposit = vector["config"], vector["deposit"]

    def voucher(index: int) -> SignedVoucher:
        one = vector["vouchers"][index]
        return SignedVoucher(vector["channelId"], int(one["maxClaimableAmount"]), one["signature"])

    drafted = Deposit(int(deposit["amount"]), int(deposit["validBefore"]), deposit["salt"])
    assert [
        voucher_header(TERMS, config, voucher(0), (drafted, deposit["signature"])),
        voucher_header(TERMS, config, voucher(1)),
        refund_header(TERMS, config, voucher(1), 1000),
        refund_header(TERMS, config, voucher(1)),
    ] == [one["header"] for one in WIRE["payloads"]]


@pytest.mark.parametrize("vector", CHANNELS["corrections"], ids=lambda vector: vector["name"])
def test_corrections_are_believed_on_the_payers_own_signature(vector: dict[str, Any]) -> None:
    channel = CHANNELS["channels"][0]
    accepted = {
        **WIRE["accepted"],
        "extra": {**WIRE["accepted"]["extra"], **vector["extra"]},
    }
    said = believe(accepted, channel["channelId"], channel["config"]["payer"], channel["chainId"])
    if vector["adopted"] is None:
        assert said is None
        return
    assert said is not None
    book = Book().adopt(said, 0)
    adopted = {"charged": book.charged, "highest": book.highest, "balance": book.balance}
    assert {name: str(value) for name, value in adopted.items()} == vector["adopted"]
    assert str(book.next_value(50)) == vector["next"]


@pytest.mark.parametrize("vector", CHANNELS["signing"], ids=lambda vector: vector["name"])
def test_values_are_signed_in_this_order(vector: dict[str, Any]) -> None:
    book, price = Book(), int(vector["price"])
    for step in vector["steps"]:
        if "sign" in step:
            value = book.next_value(price)
            assert str(value) == step["sign"]
            book = book.set_aside(InFlight(value, "", 0))
        elif "charged" in step:
            book = book.charge(int(step["charged"]), int(step.get("amount", price)))
        else:
            book = book.release(int(step["failed"]))
