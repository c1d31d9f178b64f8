"""What an answer says about a channel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from ._channel_book import Said
from ._channel_terms import is_own_voucher
from ._wire import decode_header
from .errors import ERROR_CODES

#: - ``unknown``: the voucher may be charged, now or later. Only the same one may be sent again.
#: - ``later``: it was not charged; the same voucher may be later.
#: - ``correction``: the gateway says how the channel stands.
#: - ``busy``: as ``correction``; searches that run have what is signed.
#: - ``empty``: the gateway knows nothing of the channel: it wants a deposit.
#: - ``renew``: other terms, or another deposit, would be taken.
#: - ``unavailable``: what the gateway knows of the chain is too old, or a deposit is too young.
#: - ``stopped``: no voucher of this channel is taken, or no deposit of this wallet.
#: - ``failed``: the request was refused for what it asks, and nothing was charged.
VoucherVerdict = Literal[
    "unknown",
    "later",
    "correction",
    "busy",
    "empty",
    "renew",
    "unavailable",
    "stopped",
    "failed",
]

#: The search may have been answered, or may yet be.
_UNDECIDED = {"settlement_pending", "internal_error"}
_PREFIX = "invalid_batch_settlement_evm_"
_CORRECTION = {
    "cumulative_amount_mismatch",
    "cumulative_exceeds_balance",
    "cumulative_below_claimed",
}
_EMPTY = {"channel_not_found", "missing_channel"}
_RENEW = {
    *("receiver_mismatch", "receiver_authorizer_mismatch", "token_mismatch", "amount_mismatch"),
    *("withdraw_delay_mismatch", "channel_id_mismatch", "deposit_below_min_deposit"),
    "payload_authorization_valid_before",
}


def judge_voucher(status: int, code: str | None, reason: str | None) -> VoucherVerdict:
    """Judge an answer other than 200 to a request with a voucher.

    Only the service's own refusals say anything: a status without one of its codes may be a
    proxy's, in the place of the reply.
    """
    if code is None or code not in ERROR_CODES or code in _UNDECIDED:
        return "unknown"
    if code == "payments_unavailable":
        # Nothing was charged, and waiting would take minutes.
        return "unavailable"
    if status in (408, 429) or status >= 500:
        return "later"
    if status != 402:
        return "failed"
    word = (reason or "").removeprefix(_PREFIX)
    if word == "channel_busy":
        return "busy"
    if word in _CORRECTION:
        return "correction"
    if word in _EMPTY:
        return "empty"
    return "renew" if word in _RENEW else "stopped"


@dataclass(frozen=True)
class SaidState:
    """A channel as a gateway tells it: not proved by anything."""

    channel_id: str
    charged: int
    claimed: int
    balance: int


@dataclass(frozen=True)
class ChannelReceipt:
    """PAYMENT-RESPONSE after a voucher, a deposit or a refund."""

    success: bool
    #: What this search cost; None where the receipt does not say.
    charged_units: int | None
    #: What was deposited or given back; None after a voucher.
    moved_units: int | None
    transaction: str | None
    state: SaidState | None


def _amount(value: object) -> int | None:
    is_amount = isinstance(value, str) and re.fullmatch("[0-9]{1,39}", value, re.ASCII)
    return int(cast("str", value)) if is_amount else None


def _state(value: object) -> SaidState | None:
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, object]", value)
    charged, claimed = (
        _amount(fields.get("chargedCumulativeAmount")),
        _amount(fields.get("totalClaimed")),
    )
    balance, channel_id = _amount(fields.get("balance")), fields.get("channelId")
    if not isinstance(channel_id, str) or charged is None or claimed is None or balance is None:
        return None
    return SaidState(channel_id.lower(), charged, claimed, balance)


def read_channel_receipt(headers: Mapping[str, str]) -> ChannelReceipt | None:
    """Read the receipt of a channel's payment; None when there is none that can be read."""
    value = decode_header(headers.get("payment-response"))
    if value is None or not isinstance(value.get("success"), bool):
        return None
    raw = value.get("extra")
    extra = cast("dict[str, object]", raw) if isinstance(raw, dict) else {}
    transaction = value.get("transaction")
    return ChannelReceipt(
        value["success"],
        _amount(extra.get("chargedAmount")),
        _amount(value.get("amount")),
        transaction if isinstance(transaction, str) and transaction else None,
        _state(extra.get("channelState")),
    )


def believe(accepted: Mapping[str, Any], channel_id: str, payer: str, chain_id: int) -> Said | None:
    """Return what a payer may believe of the correction in an entry of ``accepts``.

    It has nothing but its own signature to go by, and no chain to ask: it owes no more than it has
    signed. None when the gateway cannot show the signature, or says what nobody signed.
    """
    extra: Mapping[str, Any] = accepted["extra"]
    state = _state(extra.get("channelState"))
    if state is None or state.channel_id != channel_id or state.claimed > state.charged:
        return None
    raw = extra.get("voucherState")
    if not isinstance(raw, dict):
        return Said(0, state.balance) if state.charged == 0 else None
    voucher = cast("dict[str, object]", raw)
    signed, signature = _amount(voucher.get("signedMaxClaimable")), voucher.get("signature")
    if signed is None or not isinstance(signature, str):
        return None
    if state.charged > signed or not re.fullmatch("0x[0-9a-fA-F]{130}", signature):
        return None
    if not is_own_voucher(payer, chain_id, channel_id, signed, signature):
        return None
    return Said(state.charged, state.balance, signed)
