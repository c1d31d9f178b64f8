"""What is remembered of a payment."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

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
    #: Atomic USDC that go into a channel with this payment, to be spent later or given back.
    deposit_units: int | None = None


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
    #: Unix time in seconds after which nobody can execute it; 0 for a voucher, which never ends.
    valid_before: int
    #: The settling transaction, from the receipt.
    transaction: str | None = None
    #: Why it was refused, in the protocol's words.
    reason: str | None = None
    #: The channel that this deposit went to, or that this voucher is of.
    channel_id: str | None = None


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
class ChannelRecord:
    """A channel in a store."""

    id: str
    url: str
    payer: str
    created_at_ms: int
    #: Everything else, as JSON. It holds no signature.
    state: str


class ChannelStore(Protocol):
    """Where channels are remembered; this package's stores are such. Called from any thread."""

    def change_channel(
        self, channel_id: str, change: Callable[[ChannelRecord | None], ChannelRecord | None]
    ) -> None:
        """Put what ``change`` makes of a channel, with no other change in between.

        What it raises is raised, and nothing is stored; None stores nothing. Durable before this
        returns.
        """
        ...

    def channel(self, channel_id: str) -> ChannelRecord | None:
        """Return one channel."""
        ...

    def channels(self, payer: str, url: str) -> Sequence[ChannelRecord]:
        """Return the channels of a payer at an address, oldest first."""
        ...


@dataclass(frozen=True)
class ChannelView(ToDict):
    """A channel, as its payer sees it. Amounts in atomic USDC."""

    id: str
    #: ``unknown``, ``open``, ``stopped`` (the gateway takes no vouchers of it now) or ``closed``.
    status: str
    network: str
    asset: str
    pay_to: str
    payer: str
    #: Deposited and not given back.
    balance_units: int
    #: What searches have cost.
    charged_units: int
    #: What is left for further searches.
    left_units: int
    #: The price of a search when the channel was last used.
    price_units: int
    #: Vouchers whose outcome is not known.
    in_flight: int
    #: What it takes to withdraw the rest without the gateway.
    withdraw_delay_seconds: int


@dataclass(frozen=True)
class ClosedChannel(ToDict):
    """What a channel's end gave back."""

    channel: ChannelView
    refunded_units: int
    transaction: str | None


@dataclass(frozen=True)
class Spent(ToDict):
    """Atomic USDC that counts towards the caps."""

    #: Within the last 24 hours.
    day_units: int
    total_units: int
