"""Signed receipts, on the vectors that the gateway's own tests hold to what it signs."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import search402 as sdk
from search402._ed25519 import is_signed
from search402.models import parse_search_response
from search402.receipts import _number

VECTOR: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "test" / "vectors" / "receipt.json").read_text(encoding="utf-8")
)
RECEIPT: str = VECTOR["receipt"]


def test_a_receipt_proves_what_was_asked_answered_and_paid() -> None:
    verified = sdk.verify_receipt(
        RECEIPT,
        result=VECTOR["reply"],
        query=VECTOR["query"],
        payer=VECTOR["payer"].upper().replace("0X", "0x"),
        did_document=VECTOR["didDocument"],
    )
    assert verified.is_services_key
    assert verified.claims.index_generation == 7
    assert verified.claims.amount == "50"
    assert verified.to_dict()["claims"]["transaction"] == "0x" + "ab" * 32


def test_a_reply_that_was_parsed_or_printed_anew_is_the_same_reply() -> None:
    value = json.loads(VECTOR["reply"])
    for result in (
        parse_search_response(value),
        sdk.SearchOutcome(parse_search_response(value), 200, {}, 1),
        json.dumps({**value, "payment": {}}, indent=2),
        VECTOR["reply"].encode(),
    ):
        sdk.verify_receipt(RECEIPT, result=result)


@pytest.mark.parametrize("one", VECTOR["numbers"])
def test_numbers_are_written_as_javascript_writes_them(one: dict[str, Any]) -> None:
    assert _number(float(one["value"])) == one["text"]


def test_a_receipt_is_found_where_it_is() -> None:
    held = {"format": "jws", "signature": RECEIPT}
    response = {"success": True, "extensions": {"offer-receipt": {"info": {"receipt": held}}}}
    header = base64.b64encode(json.dumps(response).encode()).decode()
    for receipt in (RECEIPT, held, response, header, {"receipt": RECEIPT}):
        sdk.verify_receipt(receipt)
    data = parse_search_response(json.loads(VECTOR["reply"]))
    outcome = sdk.SearchOutcome(data, 200, {"payment-response": header}, 1)
    assert outcome.receipt == RECEIPT
    assert sdk.SearchOutcome(data, 200, {}, 1).receipt is None


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"result": VECTOR["reply"].replace("Möwen", "Mowen")}, "another result"),
        ({"result": "no JSON"}, "another result"),
        ({"query": "kestrel"}, "another search"),
        ({"query": VECTOR["query"], "max_results": 3}, "another search"),
        ({"payer": "0x" + "22" * 20}, "another payer"),
        ({"did_document": {}}, "does not name the key"),
        ({"did_document": {**VECTOR["didDocument"], "id": "did:web:other"}}, "does not name"),
    ],
)
def test_it_proves_nothing_else(expected: dict[str, Any], message: str) -> None:
    with pytest.raises(sdk.ReceiptError, match=message):
        sdk.verify_receipt(RECEIPT, **expected)


def test_a_changed_receipt_is_refused() -> None:
    header, payload, signature = RECEIPT.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    forged = base64.urlsafe_b64encode(json.dumps({**claims, "amount": "1"}).encode()).decode()
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    other = ("A" if signature[5] != "A" else "B").join((signature[:5], signature[6:]))
    for receipt, message in (
        (f"{header}.{forged.rstrip('=')}.{signature}", "signature is wrong"),
        (f"{header}.{payload}.{other}", "signature is wrong"),
        (f"{header}.{payload}.AAAA", "signature is wrong"),
        (f"{unsigned}.{payload}.{signature}", "does not know"),
        ("nonsense", "not a signed receipt"),
        (None, "not a signed receipt"),
    ):
        with pytest.raises(sdk.ReceiptError, match=message):
            sdk.verify_receipt(receipt)


def test_ed25519_is_that_of_the_rfc() -> None:
    # RFC 8032, 7.1, TEST 3.
    key = bytes.fromhex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025")
    signature = bytes.fromhex(
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    )
    assert is_signed(key, b"\xaf\x82", signature)
    assert not is_signed(key, b"\xaf\x83", signature)
    assert not is_signed(b"\xff" * 32, b"\xaf\x82", signature)
    # The same scalar plus the group's order would be a second signature of the same text.
    order = 2**252 + 27742317777372353535851937790883648493
    scalar = int.from_bytes(signature[32:], "little") + order
    assert not is_signed(key, b"\xaf\x82", signature[:32] + scalar.to_bytes(32, "little"))
