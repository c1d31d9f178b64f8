"""Pays searches by vouchers of a channel: one deposit, and then one signature for each search."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._caps import Caps
from ._channel_answer import ChannelReceipt, believe
from ._channel_book import Book, Decision, InFlight, Said, decide
from ._channel_entry import Channel, channel_of, new_channel
from ._channel_terms import (
    DEPOSIT_TYPES,
    VOUCHER_TYPES,
    ChannelTerms,
    Deposit,
    SignedVoucher,
    channel_id_of,
    config_of,
    deposit_message,
    deposit_nonce,
    read_terms,
    refund_header,
    settlement_domain,
    voucher_header,
    voucher_message,
)
from ._effects import Ask, Flow, Sleep, run
from ._runtime import Runtime
from ._signature import signature_of
from ._wire import Challenge, refusal_of, server_seconds
from .errors import PaymentError
from .options import PaymentOptions
from .records import ChannelRecord, ChannelStore, PaymentRecord, PaymentView, Quote, Spent
from .signers import Signer
from .stores import PaymentStore

#: A deposit buys this many searches at least, where the gateway's minimum does not say more.
_SEARCHES_PER_DEPOSIT = 100
_POLL_SECONDS = 0.05
#: So often is looked in vain, ten seconds long, before a search is paid for another way.
_IDLE_POLLS_MAX = 200
#: A channel that the gateway does not take is left alone for this long.
_STOPPED_MS = 15 * 60 * 1000


@dataclass(frozen=True)
class Voucher:
    """A voucher that is ready to be sent, as often as it takes."""

    channel: Channel
    entry: InFlight
    header: str
    #: Whether another call, or an earlier run of the program, may have sent it.
    shared: bool


class ChannelPayer:
    """The channels of one wallet, in the store of its payments."""

    def __init__(
        self,
        wallet: Signer,
        options: PaymentOptions,
        store: PaymentStore,
        channels: ChannelStore,
        runtime: Runtime,
    ) -> None:
        self._wallet = wallet
        self._options = options
        self._store = store
        self._channels = channels
        self._runtime = runtime
        self._caps = Caps.of(options)

    def channels(self, url: str) -> Flow[Sequence[Channel]]:
        """Return the channels of this wallet at this address, oldest first."""
        payer = self._wallet.address.lower()
        records = yield from run(lambda: self._channels.channels(payer, url))
        return [channel_of(record) for record in records]

    def remembered(self, url: str) -> Flow[ChannelTerms | None]:
        """Return the terms of the channel that is open at this address: they need no challenge."""
        if self._caps.max_deposit == 0:
            return None
        channels = yield from self.channels(url)
        opened = [one.terms for one in channels if one.status == "open"]
        return opened[-1] if opened and self._is_allowed(opened[-1]) else None

    def pending(self, url: str, body: str) -> Flow[ChannelTerms | None]:
        """Return the terms of the channel in which a voucher for this very request is out."""
        for channel in (yield from self.channels(url)):
            if any(one.body == body for one in channel.book.in_flight):
                return channel.terms
        return None

    def choose(self, challenge: Challenge) -> Flow[ChannelTerms | None]:
        """Return the terms by which a challenge can be met, within lists and caps."""
        for common in challenge.channels:
            terms = read_terms(common)
            if terms is None or not self._is_allowed(terms):
                continue
            if _deposit_units(terms) > self._caps.max_deposit:
                continue
            channel = yield from self._find(self._id_of(terms))
            since_ms = self._runtime.now_ms() - (channel.stopped_at_ms if channel else 0)
            if channel is None or channel.status != "stopped" or since_ms >= _STOPPED_MS:
                return terms
        return None

    def _is_allowed(self, terms: ChannelTerms) -> bool:
        in_caps = 0 < terms.price <= self._caps.max_per_request and self._caps.max_deposit > 0
        return in_caps and refusal_of(terms.common, self._options) is None

    def take(
        self,
        url: str,
        body: str,
        terms: ChannelTerms,
        headers: Mapping[str, str],
        deposit_units: int | None,
    ) -> Flow[Voucher | None]:
        """Set a value aside for a request, durably, and sign it.

        The same request gets the value that it has already, in whichever process. Waits while a
        deposit is on its way that it needs; None when nothing moves there: whoever had the voucher
        or the deposit has ended.

        Raises:
            PaymentError: when a cap, the caller or the wallet refuses.

        """
        idle_polls = 0
        before: Book | None = None
        while idle_polls < _IDLE_POLLS_MAX:
            decision, channel = yield from self._decide(url, body, terms, None)
            entry = channel.book.entry(decision.value)
            if decision.kind == "same" and entry is not None:
                return (yield from self._sign(channel, entry, shared=True))
            if decision.kind == "take" and entry is not None:
                return (yield from self._approve_and_sign(channel, entry))
            if decision.kind == "deposit":
                voucher = yield from self._deposit(body, channel, headers, deposit_units)
                if voucher is not None:
                    return voucher
                continue
            yield Sleep(_POLL_SECONDS)
            idle_polls = idle_polls + 1 if channel.book == before else 0
            before = channel.book
        return None

    def _decide(
        self, url: str, body: str, terms: ChannelTerms, deposit: Deposit | None
    ) -> Flow[tuple[Decision, Channel]]:
        """Decide for a request, and set its value aside where it may go on."""
        now_ms = self._runtime.now_ms()
        fresh = new_channel(url, terms, self._wallet.address.lower(), now_ms)
        decided: list[tuple[Decision, Channel]] = []

        def change(record: ChannelRecord | None) -> ChannelRecord | None:
            before = fresh if record is None else channel_of(record)
            book = before.book.without_abandoned(now_ms)
            is_known = before.status == "open"
            decision = decide(book, is_known=is_known, body=body, price=terms.price)
            goes_on = decision.kind == "take" or (decision.kind == "deposit" and deposit)
            if not goes_on:
                decided[:] = [(decision, dataclasses.replace(before, terms=terms, book=book))]
                return None
            carried = deposit if decision.kind == "deposit" else None
            entry = InFlight(decision.value, body, now_ms, carried)
            channel = dataclasses.replace(
                before,
                terms=terms,
                status="open" if is_known else "unknown",
                book=book.set_aside(entry),
            )
            decided[:] = [(decision, channel)]
            return channel.record()

        yield from run(lambda: self._channels.change_channel(fresh.id, change))
        return decided[0]

    def _deposit(
        self,
        body: str,
        channel: Channel,
        headers: Mapping[str, str],
        deposit_units: int | None,
    ) -> Flow[Voucher | None]:
        """Sign a deposit with the voucher that it brings; None when somebody else was faster."""
        terms = channel.terms
        now_seconds = server_seconds(headers, self._runtime.now_ms())
        least = terms.min_deposit_units if deposit_units is None else deposit_units
        spare = channel.book.good_spare(now_seconds, least)
        deposit = spare or Deposit(
            _deposit_units(terms) if deposit_units is None else deposit_units,
            now_seconds + terms.common.quote.max_timeout_seconds,
            "0x" + self._runtime.token_bytes(32).hex(),
        )
        reserved = None if spare else (yield from self._reserve(channel, deposit))
        entry: InFlight | None = None
        try:
            yield from self._approve(
                dataclasses.replace(terms.common.quote, deposit_units=deposit.amount_units)
            )
            _, after = yield from self._decide(channel.url, body, terms, deposit)
            entry = next((one for one in after.book.in_flight if one.deposit == deposit), None)
            if entry is not None and entry.body == body:
                return (yield from self._sign(after, entry, shared=False))
        except GeneratorExit:
            raise
        except BaseException:
            if entry is not None:
                value = entry.value
                yield from self._change(channel, lambda book: _without_spare(book.release(value)))
            yield from self._release(reserved)
            raise
        yield from self._release(reserved)
        return None

    def _reserve(self, channel: Channel, deposit: Deposit) -> Flow[PaymentRecord]:
        """Count a deposit towards the caps, before it is signed."""
        quote = channel.terms.common.quote
        nonce = deposit_nonce(channel.id, deposit.salt)
        record = PaymentRecord(
            id=nonce,
            status="signing",
            url=channel.url,
            body=f"deposit {nonce}",
            network=quote.network,
            asset=quote.asset,
            payer=channel.config["payer"],
            pay_to=quote.pay_to,
            amount_units=deposit.amount_units,
            created_at_ms=self._runtime.now_ms(),
            valid_before=deposit.valid_before,
        )
        unspent = max(0, channel.book.balance - channel.book.charged)

        def check(spent: Spent) -> None:
            self._caps.check_deposit(spent, unspent, deposit.amount_units)

        return (yield from run(lambda: self._store.reserve(record, check)))

    def _release(self, record: PaymentRecord | None) -> Flow[None]:
        if record is not None:
            released = record.released()
            yield from run(lambda: self._store.replace(released, only_if=("signing",)))

    def _approve(self, quote: Quote) -> Flow[None]:
        approve = self._options.approve
        if approve is not None and not (yield Ask(lambda: approve(quote))):
            raise PaymentError("the caller did not approve the payment; nothing was signed")

    def _approve_and_sign(self, channel: Channel, entry: InFlight) -> Flow[Voucher]:
        try:
            yield from self._approve(channel.terms.common.quote)
            return (yield from self._sign(channel, entry, shared=False))
        except GeneratorExit:
            raise
        except BaseException:
            yield from self._change(channel, lambda book: book.release(entry.value))
            raise

    def _sign(self, channel: Channel, entry: InFlight, *, shared: bool) -> Flow[Voucher]:
        voucher = yield from self._signed_voucher(channel, entry.value)
        terms, deposit = channel.terms, entry.deposit
        if deposit is None:
            header = voucher_header(terms, channel.config, voucher)
            return Voucher(channel, entry, header, shared)
        domain, message = deposit_message(terms, channel.id, channel.config["payer"], deposit)
        signature = yield from self._signature(domain, DEPOSIT_TYPES, message)
        # From here on it may be sent, so it counts.
        nonce = deposit_nonce(channel.id, deposit.salt)
        record = yield from run(lambda: self._store.get(nonce))
        if record is not None and record.status == "signing":
            opened = dataclasses.replace(record, status="open", body=None)
            if (yield from run(lambda: self._store.replace(opened, only_if=("signing",)))):
                self._tell(self._deposit_view(opened, channel))
        header = voucher_header(terms, channel.config, voucher, (deposit, signature))
        return Voucher(channel, entry, header, shared)

    def _signed_voucher(self, channel: Channel, value: int) -> Flow[SignedVoucher]:
        domain = settlement_domain(channel.terms.common.chain_id)
        message = voucher_message(channel.id, value)
        signature = yield from self._signature(domain, VOUCHER_TYPES, message)
        return SignedVoucher(channel.id, value, signature)

    def _signature(
        self,
        domain: dict[str, Any],
        types: dict[str, list[dict[str, str]]],
        message: dict[str, Any],
    ) -> Flow[str]:
        return (yield from signature_of(self._wallet, domain, types, message))

    def charged(self, voucher: Voucher, receipt: ChannelReceipt | None) -> Flow[PaymentView]:
        """Book the charge of an answered search."""
        channel, entry = voucher.channel, voucher.entry
        price = channel.terms.price
        said_units = receipt.charged_units if receipt else None
        units = price if said_units is None else min(said_units, price)
        state = receipt.state if receipt and receipt.state else None
        said = None
        if state is not None and state.channel_id == channel.id:
            said = Said(state.charged, state.balance)
        yield from self._change(channel, lambda book: book.charge(entry.value, units, said), "open")
        transaction = receipt.transaction if receipt else None
        if entry.deposit is not None:
            yield from self._paid(channel, entry.deposit, transaction)
        quote = channel.terms.common.quote
        view = PaymentView(
            id=f"{channel.id}/{entry.value}",
            status="paid",
            url=channel.url,
            network=quote.network,
            asset=quote.asset,
            payer=channel.config["payer"],
            pay_to=quote.pay_to,
            amount_units=units,
            created_at_ms=entry.at_ms,
            valid_before=0,
            transaction=transaction,
            channel_id=channel.id,
        )
        self._tell(view)
        return view

    def _paid(self, channel: Channel, deposit: Deposit, transaction: str | None) -> Flow[None]:
        nonce = deposit_nonce(channel.id, deposit.salt)
        record = yield from run(lambda: self._store.get(nonce))
        if record is None:
            return
        paid = dataclasses.replace(record, status="paid", transaction=transaction, body=None)
        if (yield from run(lambda: self._store.replace(paid, only_if=("open", "signing")))):
            self._tell(self._deposit_view(paid, channel))

    def failed(self, voucher: Voucher) -> Flow[None]:
        """Book that a search failed and cost nothing."""
        value = voucher.entry.value
        yield from self._change(voucher.channel, lambda book: book.release(value))

    def is_empty(self, voucher: Voucher) -> Flow[None]:
        """Book that the gateway knows nothing of the channel: it holds nothing yet."""
        value = voucher.entry.value

        def change(book: Book) -> Book:
            return dataclasses.replace(book.release(value), balance=0)

        yield from self._change(voucher.channel, change, "open")

    def correct(self, channel: Channel, challenge: Challenge, refused: int = 0) -> Flow[bool]:
        """Take over what a correction proves, instead of ``refused``; False when it is nothing."""
        payer, chain_id = channel.config["payer"], channel.terms.common.chain_id
        proofs = (
            believe(common.accepted, channel.id, payer, chain_id) for common in challenge.channels
        )
        said = next((one for one in proofs if one is not None), None)
        if said is None:
            return False
        believed = said
        yield from self._change(channel, lambda book: book.adopt(believed, refused), "open")
        return True

    def renew(self, voucher: Voucher) -> Flow[None]:
        """Forget a voucher, and a deposit, that other terms have made useless."""
        value = voucher.entry.value
        yield from self._change(voucher.channel, lambda book: _without_spare(book.release(value)))

    def stop(self, voucher: Voucher) -> Flow[None]:
        """Leave a channel alone that the gateway does not take now."""
        value = voucher.entry.value
        yield from self._change(
            voucher.channel, lambda book: _without_spare(book.release(value)), "stopped"
        )

    def refund(self, channel: Channel) -> Flow[str]:
        """Return the header that asks for all that is left in a channel."""
        voucher = yield from self._signed_voucher(channel, channel.book.charged)
        return refund_header(channel.terms, channel.config, voucher)

    def refunded(self, channel: Channel, receipt: ChannelReceipt) -> Flow[None]:
        """Book what was given back."""
        state, moved = receipt.state, receipt.moved_units or 0
        balance = state.balance if state else max(channel.book.balance - moved, 0)

        def change(book: Book) -> Book:
            return dataclasses.replace(_without_spare(book), balance=balance)

        status = "closed" if balance <= channel.book.charged else "open"
        yield from self._change(channel, change, status)

    def _change(
        self, channel: Channel, change: Callable[[Book], Book], status: Any = None
    ) -> Flow[None]:
        now_ms = self._runtime.now_ms()

        def changed(record: ChannelRecord | None) -> ChannelRecord | None:
            if record is None:
                return None
            before = channel_of(record)
            after = dataclasses.replace(
                before,
                book=change(before.book),
                status=status or before.status,
                stopped_at_ms=now_ms if status == "stopped" else before.stopped_at_ms,
            )
            return after.record()

        yield from run(lambda: self._channels.change_channel(channel.id, changed))

    def _find(self, channel_id: str) -> Flow[Channel | None]:
        record = yield from run(lambda: self._channels.channel(channel_id))
        return None if record is None else channel_of(record)

    def _id_of(self, terms: ChannelTerms) -> str:
        config = config_of(terms, self._wallet.address.lower())
        return channel_id_of(config, terms.common.chain_id)

    @staticmethod
    def _deposit_view(record: PaymentRecord, channel: Channel) -> PaymentView:
        return dataclasses.replace(record.view(), channel_id=channel.id)

    def _tell(self, view: PaymentView) -> None:
        if self._options.on_payment is not None:
            # A hook cannot undo a payment.
            with contextlib.suppress(Exception):
                self._options.on_payment(view)


def _deposit_units(terms: ChannelTerms) -> int:
    return max(terms.min_deposit_units, terms.price * _SEARCHES_PER_DEPOSIT)


def _without_spare(book: Book) -> Book:
    return dataclasses.replace(book, spare=None)
