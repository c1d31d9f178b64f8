"""One search from first try to last."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from ._channel_search import ChannelPorts, ChannelSearch
from ._channel_terms import ChannelTerms
from ._effects import Answer, Flow, Send, Sleep, send
from ._inquiry import Inquiry, verdict_after
from ._log import logger
from ._payer import OpenPayment, PaidRequest, Payer
from ._reply import Read, error_of
from ._retry import is_retryable, retry_after_seconds, retry_delay_seconds
from ._runtime import Runtime
from ._settings import Settings
from ._verdict import Verdict, judge
from ._wire import Challenge, read_challenge, read_receipt, server_seconds
from .errors import (
    APIConnectionError,
    PaymentError,
    PaymentLostError,
    ProtocolError,
    Search402Error,
)
from .records import PaymentView

D = TypeVar("D")

#: A refused payment is replaced at most once in a call: more would hand out signatures.
_SIGNATURES_PER_CALL_MAX = 2
_NO_CHANNEL = "the gateway offers no channel that the caps and lists allow; nothing was paid"


@dataclass(frozen=True)
class CallLimits:
    """The limits of one call."""

    max_retries: int
    timeout: float
    headers: Mapping[str, str]
    #: Whether an open payment may only be sent again, with nothing signed in its place.
    may_only_resume: bool = False
    #: Opens a channel with this search, or tops one up.
    opens_channel: bool = False
    #: With at least this deposit; None for what the gateway asks for.
    deposit_units: int | None = None


@dataclass(frozen=True)
class Outcome(Generic[D]):
    """What was asked for, with what stood around it."""

    data: D
    answer: Answer
    tries: int
    payment: PaymentView | None


class Call(Generic[D]):
    """A search, or another paid request, with the payment's life within it.

    An open payment for this request is sent before anything else; a challenge is signed only while
    there is none; every later try carries the same one, until an answer makes its outcome known.
    """

    def __init__(
        self,
        settings: Settings,
        payer: Payer | None,
        runtime: Runtime,
        request: PaidRequest,
        limits: CallLimits,
        read: Read[D],
    ) -> None:
        self._settings = settings
        self._read = read
        self._payer = payer
        self._runtime = runtime
        self._request = request
        self._limits = limits
        self._retries = 0
        self._tries = 0
        self._signatures = 0
        self._payment: OpenPayment | None = None
        #: Whether the present payment may have been accepted by an earlier try.
        self._uncertain = False
        #: Whether the gateway was asked what became of the payment: the wallet signs that once.
        self._has_inquired = False
        #: Whether a channel was tried, and cannot pay for this search.
        self._is_channel_out = False
        #: The same for every try of this call, so that a lost answer costs no second credit.
        self._idempotency_key = runtime.token_bytes(16).hex()

    def run(self) -> Flow[Outcome[D]]:
        """Search, and pay if asked to."""
        try:
            if self._payer is not None:
                self._payment = yield from self._payer.open_for(self._request)
                self._uncertain = self._payment is not None
            outcome = yield from self._by_remembered_channel()
            while outcome is None:
                outcome = yield from self._step()
            return outcome
        except Search402Error as error:
            if self._payment is not None and error.payment is None:
                error.payment = self._payment.record.view()
            raise

    def _step(self) -> Flow[Outcome[D] | None]:
        """Make one request and do what follows from its answer; None means: go on."""
        data: D | None = None
        try:
            answer = yield from self._send()
            if answer.status == 200:
                data = self._read(answer)
        except APIConnectionError as error:
            # The payment may have arrived: only the same one may be sent again.
            self._uncertain = True
            yield from self._wait_or_raise(error, None)
            return None
        except ProtocolError:
            self._uncertain = True
            raise
        if data is not None:
            return (yield from self._finish(answer, data))
        challenge = read_challenge(answer.headers) if answer.status == 402 else None
        if self._payer is not None and self._payment is not None:
            return (yield from self._judge(self._payer, self._payment, answer, challenge))
        if self._payer is not None and challenge and not self._limits.may_only_resume:
            outcome = yield from self._by_new_channel(self._payer, challenge, answer)
            if outcome is not None:
                return outcome
            if self._limits.opens_channel:
                raise PaymentError(_NO_CHANNEL)
            yield from self._sign(self._payer, challenge, answer)
        else:
            yield from self._retry_or_raise(answer, challenge)
        return None

    def _by_remembered_channel(self) -> Flow[Outcome[D] | None]:
        """Pay by the channel that is open, without a challenge."""
        limits, payer = self._limits, self._payer
        if payer is None or payer.channels is None or self._payment is not None:
            return None
        if limits.opens_channel:
            return None
        if limits.may_only_resume:
            terms = yield from payer.channels.pending(self._request.url, self._request.body)
        else:
            terms = yield from payer.channels.remembered(self._request.url)
        return None if terms is None else (yield from self._by_channel(payer, terms, {}))

    def _by_new_channel(
        self, payer: Payer, challenge: Challenge, answer: Answer
    ) -> Flow[Outcome[D] | None]:
        """Open a channel on request, and for whoever searches more than once."""
        is_wanted = payer.has_paid or self._limits.opens_channel
        if payer.channels is None or self._is_channel_out or not is_wanted:
            return None
        terms = yield from payer.channels.choose(challenge)
        if terms is None:
            return None
        yield from payer.payees.check(self._request.url, terms.common.quote.pay_to)
        return (yield from self._by_channel(payer, terms, answer.headers))

    def _by_channel(
        self, payer: Payer, terms: ChannelTerms, headers: Mapping[str, str]
    ) -> Flow[Outcome[D] | None]:
        if payer.channels is None:
            return None
        self._is_channel_out = True
        ports = ChannelPorts(
            self._send, self._wait_or_raise, self._runtime, self._limits.deposit_units
        )
        if self._limits.may_only_resume:
            ports = dataclasses.replace(ports, vouchers_max=1)
        search = ChannelSearch(
            payer.channels, self._request.url, self._request.body, ports, self._read
        )
        paid = yield from search.run(terms, headers)
        if paid is None:
            return None
        payer.has_paid = True
        return Outcome(paid.data, paid.answer, self._tries, paid.payment)

    def _send(self, payment_header: str | None = None) -> Flow[Answer]:
        headers = {
            **self._limits.headers,
            "accept": "application/json",
            "content-type": "application/json",
        }
        if self._settings.api_key is not None:
            headers["authorization"] = f"Bearer {self._settings.api_key}"
            headers.setdefault("idempotency-key", self._idempotency_key)
        if payment_header is not None:
            headers["payment-signature"] = payment_header
        elif self._payment is not None:
            headers["payment-signature"] = self._payment.header
        self._tries += 1
        request = self._request
        answer = yield from send(Send(request.url, request.body, headers, self._limits.timeout))
        logger.debug(
            "answer: status %d, try %d, request %s",
            answer.status,
            self._tries,
            answer.headers.get("x-request-id"),
        )
        return answer

    def _sign(self, payer: Payer, challenge: Challenge, answer: Answer) -> Flow[None]:
        self._payment = yield from payer.sign(self._request, challenge, answer.headers)
        self._signatures += 1
        # A call beside this one for the same search may have sent it already.
        self._uncertain = self._payment.shared

    def _judge(
        self, payer: Payer, payment: OpenPayment, answer: Answer, challenge: Challenge | None
    ) -> Flow[Outcome[D] | None]:
        """Learn what became of the payment; raise unless there is a next try."""
        error = error_of(answer, challenge, self._runtime.now_ms())
        challenge_error = challenge.error if challenge else None
        verdict = judge(answer.status, answer.headers, error.code, challenge_error, self._uncertain)
        is_open = verdict in ("unknown", "used", "lost")
        if is_open and not is_retryable(answer.status) and not self._has_inquired:
            outcome, verdict = yield from self._inquire(payer, payment, answer, verdict)
            if outcome is not None:
                return outcome
        if verdict == "unknown":
            if answer.status != 429:
                self._uncertain = True
            yield from self._retry_or_raise(answer, challenge)
            return None
        receipt = read_receipt(answer.headers)
        reason = (receipt.reason if receipt else None) or challenge_error or error.code
        logger.warning("the payment was not taken: %s, %s", verdict, reason)
        if verdict in ("used", "lost"):
            what = "was used on chain" if verdict == "used" else "may have been used on chain"
            lost = PaymentLostError(f"the payment {what}, and its reply can no longer be fetched")
            status: Literal["paid", "refused"] = "paid" if verdict == "used" else "refused"
            lost.payment = yield from payer.close(payment.record, status, reason=reason)
            raise lost from error
        view = yield from payer.close(payment.record, "refused", reason=reason)
        may_sign_anew = verdict == "refused" and not self._limits.may_only_resume
        if may_sign_anew and challenge and self._signatures < _SIGNATURES_PER_CALL_MAX:
            self._payment = None
            yield from self._sign(payer, challenge, answer)
            return None
        if may_sign_anew and self._signatures == 0:
            # A payment from an earlier call, and no fresh challenge: ask for one.
            self._payment = None
            self._uncertain = False
            self._signatures += 1
            return None
        error.payment = view
        raise error

    def _inquire(
        self, payer: Payer, payment: OpenPayment, answer: Answer, verdict: Verdict
    ) -> Flow[tuple[Outcome[D] | None, Verdict]]:
        """Ask the gateway for the truth about a payment, and for its reply."""
        self._has_inquired = True
        inquiry = Inquiry(payer, self._runtime, self._limits.timeout, self._limits.headers)
        issued_at = server_seconds(answer.headers, self._runtime.now_ms())
        state = yield from inquiry.try_state(payment.record, issued_at)
        if state == "later":
            return None, "unknown"
        if state == "never":
            return None, verdict
        logger.info("the gateway says of the payment: %s", state.status)
        if state.replayable:
            reply = yield from inquiry.try_reply(payment.record, issued_at, self._read)
            if reply is not None:
                self._tries += 1
                return (yield from self._finish(*reply)), verdict
        return None, verdict_after(state, payment.record.valid_before)

    def _finish(self, answer: Answer, data: D) -> Flow[Outcome[D]]:
        payment = None
        if self._payment is not None and self._payer is not None:
            receipt = read_receipt(answer.headers)
            transaction = (receipt.transaction if receipt else "") or None
            payment = yield from self._payer.close(
                self._payment.record, "paid", transaction=transaction
            )
        return Outcome(data, answer, self._tries, payment)

    def _retry_or_raise(self, answer: Answer, challenge: Challenge | None) -> Flow[None]:
        now_ms = self._runtime.now_ms()
        error = error_of(answer, challenge, now_ms)
        if not is_retryable(answer.status):
            raise error
        yield from self._wait_or_raise(error, retry_after_seconds(answer.headers, now_ms))

    def _wait_or_raise(self, error: Search402Error, after: float | None) -> Flow[None]:
        delay = retry_delay_seconds(self._retries, after, self._runtime)
        if delay is None or self._retries >= self._limits.max_retries:
            raise error
        self._retries += 1
        logger.info("retry %d in %.1f s, because %s", self._retries, delay, error)
        yield Sleep(delay)
