"""Signed receipts: what a payer can show afterwards (x402 extension ``offer-receipt``)."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any, cast
from urllib.parse import urlsplit

from ._dict import ToDict
from ._ed25519 import is_signed
from ._wire import decode_header
from .errors import Search402Error
from .models import SearchOutcome, SearchResponse


class ReceiptError(Search402Error):
    """A receipt that does not prove what it was held against."""


@dataclass(frozen=True)
class ReceiptClaims(ToDict):
    """What a service states in a signed receipt."""

    #: CAIP-2, such as ``eip155:8453``.
    network: str
    resource_url: str
    payer: str
    #: Unix seconds.
    issued_at: int
    #: The transfer; empty where a channel's voucher paid.
    transaction: str
    channel_id: str | None = None
    #: Atomic units, as a decimal number.
    amount: str | None = None
    #: SHA-256 over method, path and the request with its defaults.
    request_hash: str | None = None
    #: SHA-256 over the reply's bytes.
    result_hash: str | None = None
    #: Which state of the index was searched.
    index_generation: int | None = None


@dataclass(frozen=True)
class VerifiedReceipt(ToDict):
    """A receipt whose signature is good and that fits what was expected."""

    claims: ReceiptClaims
    #: The key that signed, as a DID URL.
    key_id: str
    #: Whether the document that was given says that this key signs for the service.
    is_services_key: bool


def verify_receipt(
    receipt: object,
    *,
    result: str | bytes | SearchResponse | SearchOutcome | None = None,
    query: str | None = None,
    max_results: int | None = None,
    max_description_length: int | None = None,
    payer: str | None = None,
    did_document: object = None,
) -> VerifiedReceipt:
    """Check a signed receipt, without any network: the signature, and what is expected of it.

    That the key is the service's is only known with its DID document: see ``is_services_key``.

    Args:
        receipt: ``SearchOutcome.receipt``, a ``PAYMENT-RESPONSE`` header, or an object that holds
            one of them.
        result: The reply that it must be for: as it came, or parsed.
        query: The query that it must be for.
        max_results: As in the request, where it was given.
        max_description_length: As in the request, where it was given.
        payer: Who must have paid.
        did_document: What the service serves at ``/.well-known/did.json``. Get it when you pay,
            from the service itself, and keep it with your receipts.

    Raises:
        ReceiptError: when the receipt does not prove what is expected.

    """
    signed, signature, key, key_id, fields = _read(receipt)
    if not is_signed(key, signed, signature):
        raise ReceiptError("the signature is wrong: this receipt was changed")
    claims = _claims(fields)
    if result is not None and not _holds_result(claims.result_hash, result):
        raise ReceiptError("the receipt is for another result, or the result was changed")
    if query is not None:
        asked = [query, max_results or 10, max_description_length or 3000]
        canonical = json.dumps(asked, separators=(",", ":"), ensure_ascii=False)
        if _hash(f"POST\n/search\n{canonical}".encode()) != claims.request_hash:
            raise ReceiptError("the receipt is for another search")
    if payer is not None and payer.lower() != claims.payer.lower():
        raise ReceiptError(f"the receipt is for another payer: {claims.payer}")
    is_services_key = _is_named(did_document, claims, key_id, key)
    if did_document is not None and not is_services_key:
        raise ReceiptError(f"the service's DID document does not name the key {key_id}")
    return VerifiedReceipt(claims, key_id, is_services_key)


def receipt_in(headers: Mapping[str, str]) -> str | None:
    """Return the signed receipt in a ``PAYMENT-RESPONSE`` header, if there is one."""
    return _find(decode_header(headers.get("payment-response")))


def _find(value: object) -> str | None:
    """Look for the signature in whatever holds a receipt."""
    if isinstance(value, str):
        return value if re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+", value, re.ASCII) else None
    if not isinstance(value, Mapping):
        return None
    fields = cast("Mapping[str, Any]", value)
    if fields.get("format") == "jws":
        return _find(fields.get("signature"))
    try:
        inner: object = fields["extensions"]["offer-receipt"]["info"]["receipt"]
    except (KeyError, TypeError):
        inner = fields.get("receipt")
    return _find(inner)


def _read(receipt: object) -> tuple[bytes, bytes, bytes, str, dict[str, Any]]:
    """Return the signed text, the signature, the key, its name and what it states."""
    text = receipt.strip() if isinstance(receipt, str) else receipt
    jws = _find(text) or _find(decode_header(text) if isinstance(text, str) else None)
    try:
        header_text, payload_text, signature_text = (jws or "").split(".")
        header, fields = (json.loads(_base64url(part)) for part in (header_text, payload_text))
        signature = _base64url(signature_text)
    except (ValueError, TypeError) as error:
        raise ReceiptError("this is not a signed receipt") from error
    try:
        jwk = header["jwk"]
        if header["alg"] != "EdDSA" or jwk["crv"] != "Ed25519" or fields["version"] != 1:
            raise ValueError
        key, key_id = _base64url(jwk["x"]), str(header["kid"])
    except (ValueError, TypeError, KeyError) as error:
        raise ReceiptError(
            "this receipt is signed in a way that this package does not know"
        ) from error
    return f"{header_text}.{payload_text}".encode(), signature, key, key_id, fields


def _claims(fields: dict[str, Any]) -> ReceiptClaims:
    try:
        return ReceiptClaims(
            network=fields["network"],
            resource_url=fields["resourceUrl"],
            payer=fields["payer"],
            issued_at=fields["issuedAt"],
            transaction=fields.get("transaction", ""),
            channel_id=fields.get("channelId"),
            amount=fields.get("amount"),
            request_hash=fields.get("requestHash"),
            result_hash=fields.get("resultHash"),
            index_generation=fields.get("indexGeneration"),
        )
    except KeyError as error:
        raise ReceiptError(f"the receipt has no {error}") from error


def _holds_result(
    expected: str | None, result: str | bytes | SearchResponse | SearchOutcome
) -> bool:
    if isinstance(result, SearchOutcome):
        result = result.data
    if isinstance(result, SearchResponse):
        return _hash(_compact(result.to_dict())) == expected
    content = result.encode() if isinstance(result, str) else result
    if _hash(content) == expected:
        return True
    try:
        return _hash(_compact(json.loads(content))) == expected
    except ValueError:
        return False


def _is_named(document: object, claims: ReceiptClaims, key_id: str, key: bytes) -> bool:
    """Tell whether a DID document of the receipt's service names the key that signed."""
    host = urlsplit(claims.resource_url).netloc.replace(":", "%3A")
    try:
        fields = cast("Any", document)
        return fields["id"] == f"did:web:{host}" and any(
            method["id"] == key_id and _base64url(method["publicKeyJwk"]["x"]) == key
            for method in fields["verificationMethod"]
        )
    except (KeyError, TypeError, ValueError):
        return False


def _base64url(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _hash(content: bytes) -> str:
    return "0x" + sha256(content).hexdigest()


def _compact(value: Any) -> bytes:
    """Return the bytes that a service would have sent: a reply printed anew is the same reply."""
    if not isinstance(value, dict):
        return b""
    fields = cast("dict[str, Any]", value)
    reply = {"requestId": fields.get("requestId"), "result": fields.get("result")}
    return _javascript(reply).encode()


def _javascript(value: object) -> str:
    """Return what ``JSON.stringify`` gives."""
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list):
        return f"[{','.join(map(_javascript, cast('list[object]', value)))}]"
    if isinstance(value, dict):
        members = cast("dict[str, object]", value).items()
        return "{" + ",".join(f"{_javascript(k)}:{_javascript(v)}" for k, v in members) + "}"
    text = json.dumps(value, ensure_ascii=False)
    # Halves of surrogate pairs have no bytes: JSON.stringify escapes them.
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _number(value: float) -> str:
    """Return a number as ECMA-262 writes it (6.1.6.1.20)."""
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(repr(value)), "f")
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
