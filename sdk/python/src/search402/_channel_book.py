"""What a payer knows of one channel, and which value it signs next. Pure.

A gateway takes a voucher of an unused value while

    charged + price * (1 + requests in flight) <= highest signed <= charged + window

so that requests in flight need distinct values, and may arrive in any order. Values are reused
when their search has failed; where all that are due are used, one just below them will do. So no
more is signed than the searches that run can cost.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from ._channel_terms import Deposit

#: More vouchers than this are never out at once: gateways take as many by default.
_WINDOW = 64
#: What was out for this long is waited for no more: the process that had it has ended.
_ABANDONED_MS = 10 * 60 * 1000
_DEPOSIT_ABANDONED_MS = 2 * 60 * 1000
#: A signed deposit that nobody took is used again while it is good for this long.
_SPARE_SECONDS_MIN = 60


@dataclass(frozen=True)
class InFlight:
    """A voucher whose outcome is not known."""

    value: int
    #: What it pays for: the gateway binds a value to its first request.
    body: str
    at_ms: int
    #: The deposit that goes with it.
    deposit: Deposit | None = None


@dataclass(frozen=True)
class Said:
    """What a gateway says of a channel."""

    charged: int
    balance: int
    #: The highest value that it can show the payer's signature for.
    highest: int = 0


@dataclass(frozen=True)
class Book:
    """One channel's count."""

    #: What the searches have cost, as far as their answers have come.
    charged: int = 0
    #: The highest value that was ever signed.
    highest: int = 0
    #: The highest count that a receipt has told: they may come in another order than charges.
    seen: int = 0
    #: Deposited, and not given back.
    balance: int = 0
    in_flight: tuple[InFlight, ...] = ()
    #: Values above ``charged`` that have bought something.
    used: tuple[int, ...] = ()
    #: A deposit that was signed and, as far as is known, not taken: the next one.
    spare: Deposit | None = None

    def next_value(self, price: int) -> int:
        """Return the value that the next request signs."""
        taken = {*self.used, *(one.value for one in self.in_flight)}
        due = self.charged + price * (len(self.in_flight) + 1)
        for value in range(due, self.charged, -price):
            if value > self.highest or value not in taken:
                return value
        for value in range(due, self.charged, -1):
            if value not in taken:
                return value
        return self.highest + price

    def set_aside(self, entry: InFlight) -> Book:
        """Set a value aside, before anything is signed."""
        keeps = self.spare is not None and self.spare != entry.deposit
        return dataclasses.replace(
            self,
            highest=max(self.highest, entry.value),
            in_flight=(*self.in_flight, entry),
            spare=self.spare if keeps else None,
        )

    def entry(self, value: int) -> InFlight | None:
        """Return the voucher of this value that is out."""
        return next((one for one in self.in_flight if one.value == value), None)

    def charge(self, value: int, units: int, said: Said | None = None) -> Book:
        """Book an answered search; its deposit is in the channel.

        Where nothing else is out, the gateway's count is taken over: it cannot claim more than was
        signed, and its newest receipt has everything that was charged.
        """
        entry = self.entry(value)
        if entry is None:
            return self
        rest = self._without(value)
        alone = not rest.in_flight
        charged, seen = self.charged + units, self.seen
        balance = self.balance + (entry.deposit.amount_units if entry.deposit else 0)
        if said is not None and said.charged <= self.highest:
            if said.charged >= seen:
                seen = said.charged
                balance = said.balance if alone or entry.deposit is not None else balance
            charged = seen if alone else charged
        return dataclasses.replace(
            rest,
            charged=charged,
            seen=seen,
            balance=balance,
            used=tuple(one for one in (*self.used, value) if one > charged),
        )

    def release(self, value: int) -> Book:
        """Book a failed search: it cost nothing, and the value is free again, and its deposit."""
        entry = self.entry(value)
        spare = entry.deposit if entry is not None and entry.deposit is not None else self.spare
        return dataclasses.replace(self._without(value), spare=spare)

    def adopt(self, said: Said, refused: int) -> Book:
        """Take over what the gateway can prove, instead of taking ``refused``.

        The refused value may have bought something. What the gateway cannot show it has never
        seen: it is not counted on.
        """
        rest = self.release(refused)
        return dataclasses.replace(
            rest,
            charged=said.charged,
            seen=said.charged,
            highest=max([said.highest, *(one.value for one in rest.in_flight)]),
            balance=said.balance,
            used=tuple(one for one in (*self.used, refused) if one > said.charged),
        )

    def without_abandoned(self, now_ms: int) -> Book:
        """Give up what other processes have left behind.

        It may have been charged, and its deposit taken: where that is wrong, the gateway's next
        correction says so.
        """

        def is_over(one: InFlight) -> bool:
            patience = _ABANDONED_MS if one.deposit is None else _DEPOSIT_ABANDONED_MS
            return now_ms - one.at_ms > patience

        over = [one for one in self.in_flight if is_over(one)]
        return dataclasses.replace(
            self,
            balance=self.balance + sum(one.deposit.amount_units for one in over if one.deposit),
            in_flight=tuple(one for one in self.in_flight if not is_over(one)),
            used=(*self.used, *(one.value for one in over)),
        )

    def good_spare(self, now_seconds: int, units_min: int) -> Deposit | None:
        """Return the deposit that was signed and not taken, while it can still be."""
        spare = self.spare
        if spare is None or spare.amount_units < units_min:
            return None
        return spare if spare.valid_before - now_seconds >= _SPARE_SECONDS_MIN else None

    def _without(self, value: int) -> Book:
        left = tuple(one for one in self.in_flight if one.value != value)
        return dataclasses.replace(self, in_flight=left)


@dataclass(frozen=True)
class Decision:
    """What a request may do with a channel now.

    - ``same``: it has a voucher already, and that one is sent again.
    - ``take``: it signs ``value``.
    - ``deposit``: the channel holds too little for ``value``.
    - ``wait``: a deposit is on its way, or as many vouchers are out as may be.
    """

    kind: Literal["same", "take", "deposit", "wait"]
    value: int = 0


def decide(book: Book, *, is_known: bool, body: str, price: int) -> Decision:
    """Decide for a request.

    ``is_known`` is false while nobody has told what the channel holds: then one voucher asks, and
    everybody else waits for its answer.
    """
    for one in book.in_flight:
        if one.body == body:
            return Decision("same", one.value)
    if len(book.in_flight) >= _WINDOW:
        return Decision("wait")
    value = book.next_value(price)
    if not is_known:
        return Decision("wait") if book.in_flight else Decision("take", value)
    if value <= book.balance:
        return Decision("take", value)
    if any(one.deposit is not None for one in book.in_flight):
        return Decision("wait")
    return Decision("deposit", value)
