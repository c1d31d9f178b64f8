"""The vectors that gateway and SDKs share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import search402 as sdk
from search402._wire import (
    TRANSFER_TYPES,
    Requirement,
    decode_header,
    payment_header,
    read_challenge,
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
