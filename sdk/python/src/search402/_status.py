"""What the gateway says about one payment: ``GET /payments/{nonce}``, signed by the payer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from ._dict import ToDict
from ._wire import decode_header, encode_header
from .errors import ProtocolError
from .records import PaymentRecord

STATUS_TYPES: dict[str, list[dict[str, str]]] = {
    "PaymentStatusRequest": [
        {"name": "payer", "type": "address"},
        {"name": "nonce", "type": "bytes32"},
        {"name": "issuedAt", "type": "uint256"},
        {"name": "audience", "type": "string"},
    ]
}
#: Where a payment stands in the gateway's books; ``unknown``: they do not hold it.
GatewayStatus = Literal["unknown", "reserved", "pending", "settled", "failed", "released"]
_STATUSES = {"unknown", "reserved", "pending", "settled", "failed", "released"}
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class PaymentState(ToDict):
    """A payment as the gateway's books, and the chain, have it."""

    payer: str
    #: The authorization's nonce, the ``id`` of a payment here.
    nonce: str
    status: GatewayStatus
    #: False only where books or chain say that it was not charged and cannot be any more.
    may_be_charged: bool
    #: Whether its reply can be fetched, or had by making the same call again.
    replayable: bool
    #: The settling transaction.
    transaction: str | None = None
    #: Whether it was executed on chain; None while the gateway cannot tell.
    authorization_used: bool | None = None
    #: Unix time in seconds of the block that ``authorization_used`` is from.
    chain_time: int | None = None

    def was_charged(self) -> bool:
        """Tell whether it was executed on chain."""
        return self.status == "settled" or self.authorization_used is True

    def cannot_be_charged(self, valid_before: int) -> bool:
        """Tell whether it was not executed and cannot be any more.

        For a payment that the gateway does not know only the payer knows when its window ends.
        """
        if self.was_charged():
            return False
        is_over = self.chain_time is not None and self.chain_time >= valid_before
        is_unused = self.authorization_used is False
        return not self.may_be_charged or (self.status == "unknown" and is_unused and is_over)


def parse_payment_state(value: object) -> PaymentState:
    """Read the answer to ``GET /payments/{nonce}``.

    Raises:
        ProtocolError: when it is none.

    """
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    transaction, used = fields.get("transaction"), fields.get("authorizationUsed")
    chain_time = fields.get("chainTime")
    understood = (
        fields.get("status") in _STATUSES
        and isinstance(fields.get("payer"), str)
        and isinstance(fields.get("nonce"), str)
        and isinstance(fields.get("mayBeCharged"), bool)
        and isinstance(fields.get("replayable"), bool)
        and (transaction is None or isinstance(transaction, str))
        and (used is None or isinstance(used, bool))
        and (chain_time is None or isinstance(chain_time, int))
    )
    if not understood:
        raise ProtocolError("the answer has status 200 but says nothing about a payment")
    return PaymentState(
        payer=fields["payer"],
        nonce=fields["nonce"],
        status=fields["status"],
        may_be_charged=fields["mayBeCharged"],
        replayable=fields["replayable"],
        transaction=transaction,
        authorization_used=used,
        chain_time=chain_time,
    )


def origin_of(url: object) -> str | None:
    """Return scheme, host and port of a URL (RFC 6454), or None when it has none."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        return None
    shown = f"[{host}]" if ":" in host else host
    is_default = port is None or port == _DEFAULT_PORTS[parts.scheme]
    return f"{parts.scheme}://{shown}" + ("" if is_default else f":{port}")


def audience_of(resource: object, url: str) -> str | None:
    """Return the origin that a challenge's ``resource`` names, else the one that was called."""
    named = cast("dict[str, Any]", resource).get("url") if isinstance(resource, dict) else None
    return origin_of(named) or origin_of(url)


def status_question(
    record: PaymentRecord, issued_at: int
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the EIP-712 domain and message that ask about a payment; None where nobody can."""
    chain = re.fullmatch(r"eip155:([0-9]{1,15})", record.network)
    payment = decode_header(record.header) or {}
    # A log of before does not name the audience; the signed payment does, while it is open.
    audience = record.audience or audience_of(payment.get("resource"), record.url)
    if chain is None or audience is None or not re.fullmatch("0x[0-9a-fA-F]{64}", record.id):
        return None
    domain = {"name": "search402", "version": "1", "chainId": int(chain[1])}
    message = {
        "payer": record.payer,
        "nonce": record.id,
        "issuedAt": issued_at,
        "audience": audience,
    }
    return domain, message


def proof_header(message: dict[str, Any], signature: str) -> str:
    """Return the PAYMENT-PROOF header."""
    proof = {name: message[name] for name in ("payer", "nonce", "issuedAt")}
    return encode_header({**proof, "signature": signature})


def status_url(record: PaymentRecord) -> str:
    """Return where the gateway that a payment was made for tells about it."""
    service = record.url.removesuffix("/search").removesuffix("/packs")
    return f"{service}/payments/{record.id}"
