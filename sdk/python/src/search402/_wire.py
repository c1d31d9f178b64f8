"""The x402 version 2 headers: challenge, payment, receipt."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ._money import format_usd
from ._retry import http_date_seconds
from .errors import PaymentNotAllowedError, ProtocolError
from .options import BASE_MAINNET, BASE_USDC, PaymentOptions
from .records import WINDOW_SECONDS_MAX, Quote

#: A clock that is off by more than this is not corrected by the server's word.
_SKEW_SECONDS_MAX = 15 * 60
#: EIP-712 domains that are known; a challenge that says otherwise is refused.
_KNOWN_DOMAINS = {(BASE_MAINNET, BASE_USDC): ("USD Coin", "2")}

TRANSFER_TYPES: dict[str, list[dict[str, str]]] = {
    "TransferWithAuthorization": [
        {"name": "from", "type": "address"},
        {"name": "to", "type": "address"},
        {"name": "value", "type": "uint256"},
        {"name": "validAfter", "type": "uint256"},
        {"name": "validBefore", "type": "uint256"},
        {"name": "nonce", "type": "bytes32"},
    ]
}


def encode_header(value: object) -> str:
    """Return standard base64 of the UTF-8 JSON text."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(text.encode()).decode()


def decode_header(text: str | None) -> dict[str, Any] | None:
    """Return the JSON object in a base64 header, or None when it is none."""
    if text is None:
        return None
    try:
        value: object = json.loads(base64.b64decode(text, validate=True).decode())
    except (ValueError, binascii.Error):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


@dataclass(frozen=True)
class Requirement:
    """One way to pay from a challenge, checked."""

    quote: Quote
    chain_id: int
    #: EIP-712 domain of the token.
    name: str
    version: str
    #: The item of ``accepts``, to be echoed unchanged.
    accepted: dict[str, Any]
    #: The challenge's ``resource``, to be echoed.
    resource: Any


@dataclass(frozen=True)
class Challenge:
    """Why a challenge was sent, and the ways to pay that this package understands."""

    error: str | None
    requirements: Sequence[Requirement]
    #: The ways to pay by a channel: see ``read_terms``.
    channels: Sequence[Requirement] = ()


@dataclass(frozen=True)
class Receipt:
    """PAYMENT-RESPONSE, read."""

    success: bool
    transaction: str
    reason: str | None


def read_challenge(headers: Mapping[str, str]) -> Challenge | None:
    """Read a PAYMENT-REQUIRED header; None when there is none.

    Raises:
        ProtocolError: when it cannot be read.

    """
    header = headers.get("payment-required")
    if header is None:
        return None
    value = decode_header(header)
    accepts = value.get("accepts") if value else None
    if value is None or value.get("x402Version") != 2 or not isinstance(accepts, list):
        message = "the PAYMENT-REQUIRED header is not an x402 version 2 challenge"
        raise ProtocolError(message)
    items, resource = cast("list[object]", accepts), value.get("resource")
    read = [one for one in (read_common(item, resource) for item in items) if one is not None]
    error = value.get("error")
    return Challenge(
        error if isinstance(error, str) else None,
        [one for one in read if one.accepted["scheme"] == "exact"],
        [one for one in read if one.accepted["scheme"] == "batch-settlement"],
    )


def _is_address(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("0x[0-9a-fA-F]{40}", value) is not None


def read_common(item: object, resource: Any) -> Requirement | None:
    """Read what an entry of ``accepts`` has in both schemes; None for one that is not known."""
    if not isinstance(item, dict):
        return None
    fields = cast("dict[str, Any]", item)
    extra = fields.get("extra")
    if not isinstance(extra, dict):
        return None
    extra = cast("dict[str, Any]", extra)
    chain = re.fullmatch(r"eip155:([1-9][0-9]{0,14})", str(fields.get("network")), re.ASCII)
    amount, seconds = fields.get("amount"), fields.get("maxTimeoutSeconds")
    name, version = extra.get("name"), extra.get("version")
    understood = (
        fields.get("scheme") in ("exact", "batch-settlement")
        and chain is not None
        and isinstance(amount, str)
        and re.fullmatch("0|[1-9][0-9]{0,77}", amount, re.ASCII) is not None
        and _is_address(fields.get("asset"))
        and _is_address(fields.get("payTo"))
        and isinstance(seconds, (int, float))
        and not isinstance(seconds, bool)
        and seconds > 0
        and isinstance(name, str)
        and isinstance(version, str)
        and extra.get("paymentFlow", "authorization") == "authorization"
        and extra.get("assetTransferMethod", "eip3009") == "eip3009"
    )
    if not understood or chain is None:
        return None
    quote = Quote(
        amount_units=int(cast("str", amount)),
        amount_usd=format_usd(int(cast("str", amount))),
        network=chain[0],
        asset=fields["asset"].lower(),
        pay_to=fields["payTo"].lower(),
        max_timeout_seconds=math.floor(min(cast("float", seconds), WINDOW_SECONDS_MAX)),
    )
    return Requirement(
        quote, int(chain[1]), cast("str", name), cast("str", version), fields, resource
    )


def choose_requirement(challenge: Challenge, options: PaymentOptions) -> Requirement:
    """Return the cheapest way to pay that the lists allow.

    Raises:
        PaymentNotAllowedError: when there is none.

    """
    allowed = [one for one in challenge.requirements if refusal_of(one, options) is None]
    if allowed:
        return min(allowed, key=lambda one: one.quote.amount_units)
    reasons = [str(refusal_of(one, options)) for one in challenge.requirements]
    raise PaymentNotAllowedError(
        f"nothing was signed: {'; '.join(reasons)}"
        if reasons
        else "the gateway offers no payment method this package supports (exact, EIP-3009, EVM)"
    )


def refusal_of(one: Requirement, options: PaymentOptions) -> str | None:
    """Return why the lists forbid this way to pay; None when they do not."""
    quote = one.quote

    def has(values: Sequence[str], value: str) -> bool:
        return value.lower() in {item.lower() for item in values}

    if not has(options.networks, quote.network):
        return f"network {quote.network} is not on the list of allowed networks"
    if not has(options.assets, quote.asset):
        return f"asset {quote.asset} is not on the list of allowed assets"
    if options.payees is not None and not has(options.payees, quote.pay_to):
        return f"payee {quote.pay_to} is not on the list of allowed payees"
    if _KNOWN_DOMAINS.get((quote.network, quote.asset), (one.name, one.version)) != (
        one.name,
        one.version,
    ):
        return f'the challenge names the token "{one.name}" {one.version}, which it is not'
    return None


def _seconds_ahead(headers: Mapping[str, str], now_ms: int) -> int:
    """Return by how much this machine is ahead of the server; 0 when it sent no ``Date``."""
    server = http_date_seconds(headers.get("date", ""))
    return 0 if server is None else now_ms // 1000 - int(server)


def server_seconds(headers: Mapping[str, str], now_ms: int) -> int:
    """Return Unix time by the server's ``Date`` header where it is near the local clock.

    So a machine whose clock is a few minutes wrong can pay.
    """
    ahead = _seconds_ahead(headers, now_ms)
    return now_ms // 1000 - (ahead if abs(ahead) <= _SKEW_SECONDS_MAX else 0)


def clock_complaint(headers: Mapping[str, str], now_ms: int) -> str | None:
    """Return what to say of a clock that is too wrong to be corrected; None when it is not."""
    ahead = _seconds_ahead(headers, now_ms)
    if abs(ahead) <= _SKEW_SECONDS_MAX:
        return None
    side = "behind" if ahead < 0 else "ahead of"
    minutes = round(abs(ahead) / 60)
    return (
        f"This machine's clock is {minutes} minutes {side} the service's. Set it, ideally with NTP."
    )


def transfer_authorization(
    requirement: Requirement, payer: str, nonce: str, valid_before: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the EIP-712 domain and message that the payer signs (EIP-3009)."""
    domain = {
        "name": requirement.name,
        "version": requirement.version,
        "chainId": requirement.chain_id,
        "verifyingContract": requirement.quote.asset,
    }
    message = {
        "from": payer,
        "to": requirement.quote.pay_to,
        "value": requirement.quote.amount_units,
        "validAfter": 0,
        "validBefore": valid_before,
        "nonce": nonce,
    }
    return domain, message


def payment_header(requirement: Requirement, message: dict[str, Any], signature: str) -> str:
    """Return the PAYMENT-SIGNATURE header."""
    authorization = {name: str(value) for name, value in message.items()}
    payment: dict[str, Any] = {"x402Version": 2}
    if requirement.resource is not None:
        payment["resource"] = requirement.resource
    payment["accepted"] = requirement.accepted
    payment["payload"] = {"signature": signature, "authorization": authorization}
    return encode_header(payment)


def read_receipt(headers: Mapping[str, str]) -> Receipt | None:
    """Read PAYMENT-RESPONSE; None when there is none that can be read."""
    value = decode_header(headers.get("payment-response"))
    if value is None or not isinstance(value.get("success"), bool):
        return None
    transaction, reason = value.get("transaction"), value.get("errorReason")
    return Receipt(
        value["success"],
        transaction if isinstance(transaction, str) else "",
        reason if isinstance(reason, str) else None,
    )
