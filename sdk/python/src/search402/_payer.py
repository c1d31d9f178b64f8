"""Signs within limits and remembers, so that one search is never paid twice."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ._caps import Caps
from ._effects import Ask, Flow, Lock, Unlock, run
from ._runtime import Runtime
from ._wire import (
    TRANSFER_TYPES,
    Challenge,
    Requirement,
    choose_requirement,
    payment_header,
    server_seconds,
    transfer_authorization,
)
from .errors import PaymentError, SigningError
from .payments import MemoryStore, PaymentOptions, PaymentRecord, PaymentView
from .signers import Signer


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


class Payer:
    """One wallet with its limits and its memory."""

    def __init__(self, wallet: Signer, options: PaymentOptions, runtime: Runtime) -> None:
        self._wallet = wallet
        self._options = options
        self._runtime = runtime
        self._caps = Caps.of(options)
        self.store = options.store if options.store is not None else MemoryStore()

    def open_for(self, request: PaidRequest) -> Flow[OpenPayment | None]:
        """Find the payment of this wallet for this very request whose outcome is not known."""
        records = yield from run(self.store.list)
        payer = self._wallet.address.lower()
        for record in records:
            if (
                record.status == "open"
                and (record.url, record.body) == (request.url, request.body)
                and record.payer == payer
                and record.header is not None
            ):
                return OpenPayment(record, record.header, shared=True)
        return None

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
            return already or (yield from self._sign(request, challenge, headers))
        finally:
            yield Unlock(key)

    def _sign(
        self, request: PaidRequest, challenge: Challenge, headers: Mapping[str, str]
    ) -> Flow[OpenPayment]:
        requirement = choose_requirement(challenge, self._options)
        quote = requirement.quote
        approve = self._options.approve
        if approve is not None and not (yield Ask(lambda: approve(quote))):
            raise PaymentError("the caller did not approve the payment; nothing was signed")
        now_ms = self._runtime.now_ms()
        reserved = PaymentRecord(
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
        )

        def reserve(records: Mapping[str, PaymentRecord]) -> PaymentRecord:
            self._caps.check(records.values(), quote.amount_units, now_ms)
            return reserved

        yield from run(lambda: self.store.update(reserve))
        try:
            header = yield from self._signed_header(requirement, reserved)
            record = dataclasses.replace(reserved, status="open", header=header)

            def commit(_: Mapping[str, PaymentRecord]) -> PaymentRecord:
                # Past its window it is of no use, and soon it stops counting towards the caps.
                if self._runtime.now_ms() - now_ms >= quote.max_timeout_seconds * 1000:
                    raise PaymentError("signing took longer than the payment is valid")
                return record

            yield from run(lambda: self.store.update(commit))
        except GeneratorExit:
            raise
        except BaseException:
            yield from self.close(reserved, "released")
            raise
        self._tell(record)
        return OpenPayment(record, header, shared=False)

    def _signed_header(self, requirement: Requirement, record: PaymentRecord) -> Flow[str]:
        domain, message = transfer_authorization(
            requirement, record.payer, record.id, record.valid_before
        )
        sign = self._wallet.sign_typed_data
        try:
            signature: Any = yield Ask(lambda: sign(domain, TRANSFER_TYPES, message))
        except Exception as error:
            raise SigningError(f"the wallet did not sign: {error}") from error
        return payment_header(requirement, message, _signature_hex(signature))

    def close(
        self,
        record: PaymentRecord,
        status: Literal["paid", "refused", "released"],
        *,
        transaction: str | None = None,
        reason: str | None = None,
    ) -> Flow[PaymentView]:
        """Record an outcome; the signed header is forgotten."""
        closed = dataclasses.replace(
            record, status=status, transaction=transaction, reason=reason, header=None, body=None
        )
        changed: list[PaymentRecord] = []

        def change(records: Mapping[str, PaymentRecord]) -> PaymentRecord | None:
            # Two calls may share a payment: `paid` is never taken back, nothing is told twice.
            before = records.get(record.id)
            if before is not None and before.status in ("paid", status):
                return None
            changed.append(closed)
            return closed

        yield from run(lambda: self.store.update(change))
        if changed and status != "released":
            self._tell(closed)
        return closed.view()

    def _tell(self, record: PaymentRecord) -> None:
        if self._options.on_payment is not None:
            # A hook cannot undo a payment.
            with contextlib.suppress(Exception):
                self._options.on_payment(record.view())


def _signature_hex(signature: Any) -> str:
    value = getattr(signature, "signature", signature)
    text = "0x" + bytes(value).hex() if isinstance(value, (bytes, bytearray)) else value
    if not isinstance(text, str) or not re.fullmatch("0x[0-9a-fA-F]{130,}", text):
        raise SigningError("the wallet answered with something that is not a signature")
    return text
