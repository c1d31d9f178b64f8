"""Channels of x402's ``batch-settlement`` scheme: their terms, ids, and what a payer signs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._wire import Requirement, encode_header
from .errors import ConfigurationError
from .signers import encode_words, keccak256, typed_data_digest

#: The settlement contract and the deposit collector: the same addresses on every chain.
SETTLEMENT = "0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003"
DEPOSIT_COLLECTOR = "0x4020806089470a89826cb9fb1f4059150b550004"
#: What the contract allows: a quarter of an hour to thirty days.
_WITHDRAW_DELAY_SECONDS = range(900, 2_592_001)
#: The same salt for everybody: a client that lost its store finds its channel again.
_SALT = "0x" + "0" * 64

_CONFIG_TYPES = {
    "ChannelConfig": [
        {"name": "payer", "type": "address"},
        {"name": "payerAuthorizer", "type": "address"},
        {"name": "receiver", "type": "address"},
        {"name": "receiverAuthorizer", "type": "address"},
        {"name": "token", "type": "address"},
        {"name": "withdrawDelay", "type": "uint40"},
        {"name": "salt", "type": "bytes32"},
    ]
}
VOUCHER_TYPES: dict[str, list[dict[str, str]]] = {
    "Voucher": [
        {"name": "channelId", "type": "bytes32"},
        {"name": "maxClaimableAmount", "type": "uint128"},
    ]
}
DEPOSIT_TYPES: dict[str, list[dict[str, str]]] = {
    "ReceiveWithAuthorization": [
        {"name": "from", "type": "address"},
        {"name": "to", "type": "address"},
        {"name": "value", "type": "uint256"},
        {"name": "validAfter", "type": "uint256"},
        {"name": "validBefore", "type": "uint256"},
        {"name": "nonce", "type": "bytes32"},
    ]
}


@dataclass(frozen=True)
class ChannelTerms:
    """A way to pay by a channel, from a challenge; the quote's amount is the price of a search."""

    common: Requirement
    receiver_authorizer: str
    #: Seconds that a payer waits who takes a deposit back alone.
    withdraw_delay: int
    #: The least deposit that the gateway takes, in atomic USDC.
    min_deposit_units: int

    @property
    def price(self) -> int:
        """Atomic USDC for one search."""
        return self.common.quote.amount_units


@dataclass(frozen=True)
class Deposit:
    """A deposit before it is signed; the salt makes it the only one of its kind."""

    amount_units: int
    valid_before: int
    salt: str


@dataclass(frozen=True)
class SignedVoucher:
    """A voucher with its signature, as it goes over the wire."""

    channel_id: str
    value: int
    signature: str


def read_terms(common: Requirement) -> ChannelTerms | None:
    """Read the channel's side of an entry in ``accepts``; None when it cannot be used."""
    extra: Mapping[str, Any] = common.accepted["extra"]
    authorizer, delay = extra.get("receiverAuthorizer"), extra.get("withdrawDelay")
    deposit = extra.get("minDeposit", "0")
    if not isinstance(authorizer, str) or not re.fullmatch("0x[0-9a-fA-F]{40}", authorizer):
        return None
    if int(authorizer, 16) == 0 or isinstance(delay, bool) or not isinstance(delay, int):
        return None
    if delay not in _WITHDRAW_DELAY_SECONDS:
        return None
    if not isinstance(deposit, str) or not re.fullmatch("[0-9]{1,38}", deposit, re.ASCII):
        return None
    return ChannelTerms(common, authorizer.lower(), delay, int(deposit))


def config_of(terms: ChannelTerms, payer: str) -> dict[str, Any]:
    """Return the channel of this payer under these terms."""
    return {
        "payer": payer,
        "payerAuthorizer": payer,
        "receiver": terms.common.quote.pay_to,
        "receiverAuthorizer": terms.receiver_authorizer,
        "token": terms.common.quote.asset,
        "withdrawDelay": terms.withdraw_delay,
        "salt": _SALT,
    }


def settlement_domain(chain_id: int) -> dict[str, Any]:
    """Return the EIP-712 domain of everything but a deposit."""
    return {
        "name": "x402 Batch Settlement",
        "version": "1",
        "chainId": chain_id,
        "verifyingContract": SETTLEMENT,
    }


def channel_id_of(config: Mapping[str, Any], chain_id: int) -> str:
    """Return the channel's id: the whole typed-data hash, domain included."""
    digest = typed_data_digest(settlement_domain(chain_id), _CONFIG_TYPES, dict(config))
    return "0x" + digest.hex()


def voucher_message(channel_id: str, value: int) -> dict[str, Any]:
    """Return what a payer signs for one search: the most that may be claimed in all."""
    return {"channelId": channel_id, "maxClaimableAmount": value}


def deposit_nonce(channel_id: str, salt: str) -> str:
    """Return the EIP-3009 nonce of a deposit; it names the channel."""
    return "0x" + keccak256(encode_words(channel_id, salt)).hex()


def deposit_message(
    terms: ChannelTerms, channel_id: str, payer: str, deposit: Deposit
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return domain and message of a deposit (EIP-3009), in the token's own domain."""
    domain = {
        "name": terms.common.name,
        "version": terms.common.version,
        "chainId": terms.common.chain_id,
        "verifyingContract": terms.common.quote.asset,
    }
    message = {
        "from": payer,
        "to": DEPOSIT_COLLECTOR,
        "value": deposit.amount_units,
        "validAfter": 0,
        "validBefore": deposit.valid_before,
        "nonce": deposit_nonce(channel_id, deposit.salt),
    }
    return domain, message


def is_own_voucher(payer: str, chain_id: int, channel_id: str, value: int, signature: str) -> bool:
    """Return whether this payer has signed this voucher."""
    try:
        from coincurve import PublicKey
    except ImportError as error:
        message = 'channels need an extra: pip install "search402[wallet]"'
        raise ConfigurationError(message) from error
    message_data = voucher_message(channel_id, value)
    digest = typed_data_digest(settlement_domain(chain_id), VOUCHER_TYPES, message_data)
    raw = bytes.fromhex(signature[2:])
    if len(raw) != 65 or raw[64] not in (27, 28):
        return False
    try:
        compact = raw[:64] + bytes([raw[64] - 27])
        key = PublicKey.from_signature_and_message(compact, digest, hasher=None)
    except Exception:
        return False
    return "0x" + keccak256(key.format(compressed=False)[1:])[12:].hex() == payer


def voucher_header(
    terms: ChannelTerms,
    config: Mapping[str, Any],
    voucher: SignedVoucher,
    deposit: tuple[Deposit, str] | None = None,
) -> str:
    """Return the PAYMENT-SIGNATURE header of a voucher, and of the deposit that it brings."""
    payload: dict[str, Any] = {
        "type": "voucher" if deposit is None else "deposit",
        "channelConfig": dict(config),
        "voucher": _wire(voucher),
    }
    if deposit is not None:
        signed, signature = deposit
        payload["deposit"] = {
            "amount": str(signed.amount_units),
            "authorization": {
                "erc3009Authorization": {
                    "validAfter": "0",
                    "validBefore": str(signed.valid_before),
                    "salt": signed.salt,
                    "signature": signature,
                }
            },
        }
    return _header(terms, payload)


def refund_header(
    terms: ChannelTerms,
    config: Mapping[str, Any],
    voucher: SignedVoucher,
    amount_units: int | None = None,
) -> str:
    """Return the header that asks for ``amount_units`` back, or for all that is left."""
    payload: dict[str, Any] = {
        "type": "refund",
        "channelConfig": dict(config),
        "voucher": _wire(voucher),
    }
    if amount_units is not None:
        payload["amount"] = str(amount_units)
    return _header(terms, payload)


def _wire(voucher: SignedVoucher) -> dict[str, str]:
    return {
        "channelId": voucher.channel_id,
        "maxClaimableAmount": str(voucher.value),
        "signature": voucher.signature,
    }


def _header(terms: ChannelTerms, payload: dict[str, Any]) -> str:
    payment: dict[str, Any] = {"x402Version": 2}
    if terms.common.resource is not None:
        payment["resource"] = terms.common.resource
    payment["accepted"] = terms.common.accepted
    payment["payload"] = payload
    return encode_header(payment)
