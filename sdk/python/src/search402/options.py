"""How a client may pay."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ._money import Money
from .records import PaymentView, Quote
from .stores import PaymentStore

#: Base mainnet, where the service sells.
BASE_MAINNET = "eip155:8453"
#: USDC on Base mainnet.
BASE_USDC = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"


@dataclass(frozen=True)
class PaymentOptions:
    """How a client may pay: caps, allow-lists, the store and hooks."""

    #: One payment; 0.001 USD unless told otherwise: a search costs about 0.00005.
    max_per_request: Money = "0.001"
    #: All payments of any 24 hours; 1 USD unless told otherwise.
    max_per_day: Money = "1"
    #: All payments in the store, since it was made; no limit unless told otherwise.
    max_total: Money | None = None
    #: What may be paid ahead, for one pack or unspent in one channel; 0.1 USD unless told
    #: otherwise, 0 for neither. Packs and deposits count towards the day and the total, the
    #: searches that they pay for do not again.
    max_deposit: Money = "0.1"
    #: CAIP-2 networks.
    networks: Sequence[str] = (BASE_MAINNET,)
    #: Token addresses.
    assets: Sequence[str] = (BASE_USDC,)
    #: Payees; the one at which a service was first paid unless told otherwise, or ``approve`` is
    #: given.
    payees: Sequence[str] | None = None
    #: Where payments are remembered; a file in the user's state directory unless told otherwise
    #: (see :func:`search402.default_store_path`), so that caps and payments survive a restart.
    store: PaymentStore | None = None
    #: Asked before each signature; a false answer is a refusal to pay. May be ``async`` with the
    #: async client.
    approve: Callable[[Quote], bool | Awaitable[bool]] | None = None
    #: Told of each signed payment (``open``) and of each outcome. What it raises is ignored.
    on_payment: Callable[[PaymentView], None] | None = None
