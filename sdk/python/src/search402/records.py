"""What is remembered of a payment."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from ._dict import ToDict

#: Where a payment stands, as far as this side knows.
#:
#: - ``signing``: the amount is set aside; no signature has left this process.
#: - ``open``: signed and perhaps sent; the outcome is not known.
#: - ``paid``: its search was answered.
#: - ``refused``: the gateway said that it will not be used. It still counts towards the caps,
#:   because that is only the gateway's word: a signed authorization can be executed by anyone.
#: - ``released``: no signature left this process, and none can any more.
PaymentStatus = Literal["signing", "open", "paid", "refused", "released"]

#: No quote is signed for a longer window: a signed authorization should not lie around.
WINDOW_SECONDS_MAX = 3600


@dataclass(frozen=True)
class Quote(ToDict):
    """What a gateway asks for one search."""

    #: Atomic USDC.
    amount_units: int
    #: The same in dollars.
    amount_usd: str
    #: CAIP-2, such as ``eip155:8453``.
    network: str
    asset: str
    pay_to: str
    #: How long a payment may stay valid.
    max_timeout_seconds: int


@dataclass(frozen=True)
class PaymentView(ToDict):
    """A payment as errors, hooks and lists show it: without the signed header."""

    #: The authorization's nonce, 32 bytes of hex.
    id: str
    status: PaymentStatus
    #: What it pays for.
    url: str
    network: str
    asset: str
    payer: str
    pay_to: str
    #: Atomic USDC.
    amount_units: int
    #: Milliseconds since the Unix epoch.
    created_at_ms: int
    #: Unix time in seconds after which nobody can execute it.
    valid_before: int
    #: The settling transaction, from the receipt.
    transaction: str | None = None
    #: Why it was refused, in the protocol's words.
    reason: str | None = None


@dataclass(frozen=True)
class PaymentRecord(PaymentView):
    """One payment in a store. Anyone who holds ``header`` can have it settled: keep it private."""

    #: The exact request body; removed once the payment is closed.
    body: str | None = None
    #: The PAYMENT-SIGNATURE header; only while ``open``.
    header: str | None = dataclasses.field(default=None, repr=False)
    #: The origin that the gateway names as its own; questions about the payment are signed for it.
    audience: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the view as a dict: what could be spent stays out."""
        return self.view().to_dict()

    def released(self) -> PaymentRecord:
        """Return the payment as one that no signature can leave any more."""
        return dataclasses.replace(self, status="released", header=None, body=None)

    def view(self) -> PaymentView:
        """Return the payment without what could be spent, and without what was asked."""
        fields = dataclasses.fields(PaymentView)
        return PaymentView(**{field.name: getattr(self, field.name) for field in fields})


@dataclass(frozen=True)
class Spent(ToDict):
    """Atomic USDC that counts towards the caps."""

    #: Within the last 24 hours.
    day_units: int
    total_units: int
