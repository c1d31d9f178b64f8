"""A channel as it is remembered."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ._channel_book import Book, InFlight
from ._channel_terms import ChannelTerms, Deposit, channel_id_of, config_of, read_terms
from ._wire import read_common
from .errors import PaymentError
from .records import ChannelRecord

#: - ``unknown``: nobody has asked the gateway yet what the channel holds.
#: - ``open``: it is paid with.
#: - ``stopped``: the gateway takes no vouchers of it now.
#: - ``closed``: what was left was given back. A deposit opens it again.
ChannelStatus = Literal["unknown", "open", "stopped", "closed"]


@dataclass(frozen=True)
class Channel:
    """A channel with everything that its payer knows of it."""

    id: str
    url: str
    config: dict[str, Any]
    #: The terms under which it was used last: the next search needs no challenge.
    terms: ChannelTerms
    status: ChannelStatus
    created_at_ms: int
    book: Book
    stopped_at_ms: int = 0

    def record(self) -> ChannelRecord:
        """Return what the store keeps."""
        state = {
            "status": self.status,
            "config": self.config,
            "accepted": self.terms.common.accepted,
            "resource": self.terms.common.resource,
            "stopped_at_ms": self.stopped_at_ms,
            "book": asdict(self.book),
        }
        text = json.dumps(state, separators=(",", ":"))
        return ChannelRecord(self.id, self.url, self.config["payer"], self.created_at_ms, text)


def new_channel(url: str, terms: ChannelTerms, payer: str, created_at_ms: int) -> Channel:
    """Return a channel that nothing is known of yet."""
    config = config_of(terms, payer)
    channel_id = channel_id_of(config, terms.common.chain_id)
    return Channel(channel_id, url, config, terms, "unknown", created_at_ms, Book())


def channel_of(record: ChannelRecord) -> Channel:
    """Read what the store keeps.

    Raises:
        PaymentError: when it cannot be read: nothing is signed on top of damage.

    """
    try:
        state = json.loads(record.state)
        common = read_common(state["accepted"], state["resource"])
        terms = None if common is None else read_terms(common)
        if terms is None:
            raise ValueError("no terms")
        return Channel(
            record.id,
            record.url,
            state["config"],
            terms,
            state["status"],
            record.created_at_ms,
            _book(state["book"]),
            state["stopped_at_ms"],
        )
    except (KeyError, TypeError, ValueError) as error:
        message = f"the record of channel {record.id} is damaged; nothing was signed"
        raise PaymentError(message) from error


def _book(fields: dict[str, Any]) -> Book:
    def deposit(value: dict[str, Any] | None) -> Deposit | None:
        return None if value is None else Deposit(**value)

    in_flight = tuple(
        InFlight(one["value"], one["body"], one["at_ms"], deposit(one["deposit"]))
        for one in fields["in_flight"]
    )
    return Book(
        charged=fields["charged"],
        highest=fields["highest"],
        seen=fields["seen"],
        balance=fields["balance"],
        in_flight=in_flight,
        used=tuple(fields["used"]),
        spare=deposit(fields["spare"]),
    )
