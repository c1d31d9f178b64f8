"""What an answer says about the payment that its request carried."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from ._wire import read_receipt
from .errors import ERROR_CODES

#: - ``paid``: the search was answered.
#: - ``unknown``: it may be settled, now or later. Only the same payment may be sent again.
#: - ``refused``: it will not be used; signing anew can help (a new price, an expired window).
#: - ``refused-finally``: it will not be used, and neither would another one (empty wallet).
#: - ``used``: the gateway says that it was used on chain, but gives no reply for it.
#: - ``lost``: it is not taken any more, and whether an earlier try was cannot be learned.
Verdict = Literal["paid", "unknown", "refused", "refused-finally", "used", "lost"]

#: The service's codes that refuse a payment for what it is, whatever became of earlier tries.
_NO_LONGER_TAKEN = {"payment_invalid", "authorization_bound_to_other_request"}
#: Both spellings: the x402 specification's and the reference implementation's.
_USED = re.compile("nonce_already_used|authorization_(is_)?used|nonce_used")
_NOT_HELPED_BY_A_NEW_SIGNATURE = re.compile(
    "insufficient|invalid_exact_evm_(payload_)?signature|scheme|network_mismatch|unsupported|"
    "blacklist|paused|not_supported|domain|token_name|token_version|asset_not_deployed|factory"
)


def judge(
    status: int,
    headers: Mapping[str, str],
    code: str | None,
    challenge_error: str | None,
    uncertain: bool,
) -> Verdict:
    """Judge an answer to a paid request.

    Only an answer with one of the service's codes can end a payment: whatever stands between may
    answer 403 or 402 after the gateway has settled. ``uncertain`` is whether an earlier try with
    this payment may have been accepted; then only ``settlement_failed`` is believed, which the
    service says from its books. Any other refusal may be about the second try alone: a window that
    has passed meanwhile, or a server that keeps no books.
    """
    if status == 200:
        return "paid"
    if not 400 <= status < 500 or status in (408, 429) or code not in ERROR_CODES:
        return "unknown"
    if status != 402:
        return "unknown" if uncertain else "refused-finally"
    receipt = read_receipt(headers)
    reason = (receipt.reason if receipt else None) or challenge_error or ""
    if (receipt and receipt.success) or reason == "settlement_pending":
        return "unknown"
    if _USED.search(reason):
        return "used"
    if uncertain and code != "settlement_failed":
        return "lost" if code in _NO_LONGER_TAKEN else "unknown"
    # The header did not arrive as one: the next would not either.
    if code == "payment_required":
        return "refused-finally"
    return "refused-finally" if _NOT_HELPED_BY_A_NEW_SIGNATURE.search(reason) else "refused"
