"""Signs within limits and remembers, so that one search is never paid twice."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ._caps import Caps
from ._channel_payer import ChannelPayer
from ._effects import Ask, Flow, Lock, Sleep, Unlock, run
from ._known_payees import KnownPayees
from ._runtime import Runtime
from ._signature import signature_of
from ._sqlite import SqliteTable
from ._status import STATUS_TYPES, audience_of, proof_header, status_question
from ._wire import (
    TRANSFER_TYPES,
    Challenge,
    Requirement,
    choose_requirement,
    payment_header,
    server_seconds,
    transfer_authorization,
)
from .errors import PaymentError
from .options import PaymentOptions
from .records import PaymentRecord, PaymentView, Quote, Spent
from .signers import Signer
from .stores import FileStore, PaymentStore, default_store_path

#: How long another process may take to sign for the same search before its reservation is taken
#: over. It may have been killed; if it was only slow, it finds out before its payment leaves it.
_SIGNING_PATIENCE_SECONDS = 60.0
_SIGNING_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class OpenPayment:
    """A signed payment, ready to be sent, as often as it takes."""

    record: PaymentRecord
    header: str
    #: Whether another call, or an earlier run of the program, signed it and may have sent it.
    shared: bool


@dataclass(frozen=True)
class PaidRequest:
    """The request that a payment is for: the gateway binds an authorization to its first one."""

    url: str
    body: str


def _shared(record: PaymentRecord | None) -> OpenPayment | None:
    if record is None or record.header is None:
        return None
    return OpenPayment(record, record.header, shared=True)


class Payer:
    """One wallet with its limits and its memory."""

    def __init__(self, wallet: Signer, options: PaymentOptions, runtime: Runtime) -> None:
        self._wallet = wallet
        self._options = options
        self._runtime = runtime
        self._caps = Caps.of(options)
        self.store: PaymentStore
        self._own_store: FileStore | None = None
        if options.store is None:
            self.store = self._own_store = FileStore(default_store_path())
        else:
            self.store = options.store
        #: Who may be paid where the caller has not said it.
        self.payees = KnownPayees(options, self.store)
        #: Pays through channels, out of the same wallet, caps and store; None where the caller's
        #: store does not keep channels.
        self.channels: ChannelPayer | None = None
        if isinstance(self.store, SqliteTable):
            self.channels = ChannelPayer(wallet, options, self.store, self.store, runtime)
        #: Whether this client has paid for a search: whoever searches again may want a channel.
        self.has_paid = False

    def close_store(self) -> None:
        """Close the store, unless it is the caller's."""
        if self._own_store is not None:
            self._own_store.close()

    def for_packs(self) -> Payer:
        """Return a payer for what is paid ahead: the same wallet, store and budgets, other cap."""
        options = dataclasses.replace(
            self._options, store=self.store, max_per_request=self._options.max_deposit
        )
        return Payer(self._wallet, options, self._runtime)

    def open_for(self, request: PaidRequest) -> Flow[OpenPayment | None]:
        """Find the payment of this wallet for this very request whose outcome is not known."""
        payer = self._wallet.address.lower()
        found = yield from run(lambda: self.store.find_open(payer, request.url, request.body))
        return _shared(found)

    def sign(
        self, request: PaidRequest, challenge: Challenge, headers: Mapping[str, str]
    ) -> Flow[OpenPayment]:
        """Sign one payment for a request, or return the one that is open for it by now.

        It is durable in the store before it is returned, hence before it can be sent.

        Raises:
            PaymentError: when a list, a cap, the caller or the signer refuses.

        """
        key = f"{request.url}\n{request.body}"
        yield Lock(key)
        try:
            already = yield from self.open_for(request)
            return already or (yield from self._approve_and_sign(request, challenge, headers))
        finally:
            yield Unlock(key)

    def _approve_and_sign(
        self, request: PaidRequest, challenge: Challenge, headers: Mapping[str, str]
    ) -> Flow[OpenPayment]:
        requirement = choose_requirement(challenge, self._options)
        quote = requirement.quote
        yield from self.payees.check(request.url, quote.pay_to)
        approve = self._options.approve
        if approve is not None and not (yield Ask(lambda: approve(quote))):
            raise PaymentError("the caller did not approve the payment; nothing was signed")
        waited = 0.0
        was_taken_over = False
        while True:
            draft = self._draft(request, requirement, headers)
            held = yield from self._reserve(draft)
            if held.id == draft.id:
                mine = yield from self._sign(requirement, draft)
                if mine is not None:
                    return mine
                was_taken_over = True
                continue
            shared = _shared(held)
            if shared is not None:
                return shared
            if waited < _SIGNING_PATIENCE_SECONDS:
                yield Sleep(_SIGNING_POLL_SECONDS)
                waited += _SIGNING_POLL_SECONDS
            elif was_taken_over:
                # Taking it back would go on for ever between two slow wallets.
                raise PaymentError("another process is signing for this search; call again later")
            else:
                yield from self._release(held)

    def _draft(
        self, request: PaidRequest, requirement: Requirement, headers: Mapping[str, str]
    ) -> PaymentRecord:
        now_ms = self._runtime.now_ms()
        quote: Quote = requirement.quote
        return PaymentRecord(
            id="0x" + self._runtime.token_bytes(32).hex(),
            status="signing",
            url=request.url,
            body=request.body,
            network=quote.network,
            asset=quote.asset,
            payer=self._wallet.address.lower(),
            pay_to=quote.pay_to,
            amount_units=quote.amount_units,
            created_at_ms=now_ms,
            valid_before=server_seconds(headers, now_ms) + quote.max_timeout_seconds,
            audience=audience_of(requirement.resource, request.url),
        )

    def _reserve(self, draft: PaymentRecord) -> Flow[PaymentRecord]:
        def check(spent: Spent) -> None:
            self._caps.check(spent, draft.amount_units)

        return (yield from run(lambda: self.store.reserve(draft, check)))

    def _sign(self, requirement: Requirement, reserved: PaymentRecord) -> Flow[OpenPayment | None]:
        """Sign what was reserved; None when it was taken over meanwhile: nothing may leave."""
        try:
            domain, message = transfer_authorization(
                requirement, reserved.payer, reserved.id, reserved.valid_before
            )
            signature = yield from self._signature(domain, TRANSFER_TYPES, message)
            header = payment_header(requirement, message, signature)
            # Past its window it is of no use, and soon it stops counting towards the caps.
            taken_ms = self._runtime.now_ms() - reserved.created_at_ms
            if taken_ms >= requirement.quote.max_timeout_seconds * 1000:
                raise PaymentError("signing took longer than the payment is valid")
            record = dataclasses.replace(reserved, status="open", header=header)
            is_mine = yield from run(lambda: self.store.replace(record, only_if=("signing",)))
        except GeneratorExit:
            raise
        except BaseException:
            yield from self._release(reserved)
            raise
        if not is_mine:
            return None
        self._tell(record)
        return OpenPayment(record, header, shared=False)

    def _release(self, record: PaymentRecord) -> Flow[None]:
        released = record.released()
        yield from run(lambda: self.store.replace(released, only_if=("signing",)))

    def _signature(
        self,
        domain: dict[str, Any],
        types: dict[str, list[dict[str, str]]],
        message: dict[str, Any],
    ) -> Flow[str]:
        return (yield from signature_of(self._wallet, domain, types, message))

    def prove(self, record: PaymentRecord, issued_at: int) -> Flow[str | None]:
        """Return the PAYMENT-PROOF header for a payment of this wallet; None where none can be.

        Raises:
            SigningError: when the wallet does not sign the question.

        """
        question = status_question(record, issued_at)
        if question is None or record.payer != self._wallet.address.lower():
            return None
        domain, message = question
        signature = yield from self._signature(domain, STATUS_TYPES, message)
        return proof_header(message, signature)

    def close(
        self,
        record: PaymentRecord,
        status: Literal["paid", "refused"],
        *,
        transaction: str | None = None,
        reason: str | None = None,
    ) -> Flow[PaymentView]:
        """Record an outcome; the signed header is forgotten."""
        self.has_paid = self.has_paid or status == "paid"
        closed = dataclasses.replace(
            record, status=status, transaction=transaction, reason=reason, header=None, body=None
        )
        # Two calls may share a payment: `paid` is never taken back, and nothing is told twice.
        before: tuple[Literal["open", "refused"], ...] = ("open",)
        if status == "paid":
            before = ("open", "refused")
        changed = yield from run(lambda: self.store.replace(closed, only_if=before))
        if changed:
            self._tell(closed)
        return closed.view()

    def _tell(self, record: PaymentRecord) -> None:
        if self._options.on_payment is not None:
            # A hook cannot undo a payment.
            with contextlib.suppress(Exception):
                self._options.on_payment(record.view())
