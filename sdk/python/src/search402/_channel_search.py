"""One search that is paid for by a channel, from its first voucher to its last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from ._channel_answer import judge_voucher, read_channel_receipt
from ._channel_payer import ChannelPayer, Voucher
from ._channel_terms import ChannelTerms, read_terms
from ._effects import Answer, Flow, Sleep
from ._log import logger
from ._reply import Read, error_of
from ._retry import is_retryable, retry_after_seconds
from ._runtime import Runtime
from ._wire import Challenge, read_challenge, read_receipt
from .errors import APIConnectionError, CapExceededError, Search402Error
from .records import PaymentView

D = TypeVar("D")

#: A correction is one voucher more; with this many there is no end in sight.
_VOUCHERS_PER_CALL_MAX = 6
_BUSY_PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class ChannelPorts:
    """What a search by a channel needs of the call that it belongs to."""

    #: Sends the request with this PAYMENT-SIGNATURE.
    send: Callable[[str], Flow[Answer]]
    #: Waits until the next try, or raises the error when there is none.
    wait_or_raise: Callable[[Search402Error, float | None], Flow[None]]
    runtime: Runtime
    deposit_units: int | None = None
    vouchers_max: int = _VOUCHERS_PER_CALL_MAX


@dataclass(frozen=True)
class Paid(Generic[D]):
    """A search that a voucher has paid for."""

    answer: Answer
    data: D
    payment: PaymentView


@dataclass(frozen=True)
class _Again:
    """Another voucher can do it, perhaps by other terms."""

    answer: Answer
    terms: ChannelTerms | None = None


class ChannelSearch(Generic[D]):
    """Takes vouchers for one search until one is answered, or the channel is out."""

    def __init__(
        self, payer: ChannelPayer, url: str, body: str, ports: ChannelPorts, read: Read[D]
    ) -> None:
        self._payer = payer
        self._url = url
        self._body = body
        self._ports = ports
        self._read = read

    def run(self, terms: ChannelTerms, headers: Mapping[str, str]) -> Flow[Paid[D] | None]:
        """Return the answered search; None when it has to be paid for another way."""
        for round_ in range(self._ports.vouchers_max):
            try:
                voucher = yield from self._payer.take(
                    self._url, self._body, terms, headers, self._ports.deposit_units
                )
            except CapExceededError as error:
                # Where a deposit would exceed a cap, a payment of its own may not.
                if error.cap == "max_per_request":
                    raise
                return None
            if voucher is None:
                return None
            step = yield from self._present(voucher, round_)
            if not isinstance(step, _Again):
                return step
            terms = step.terms or terms
            headers = step.answer.headers
        return None

    def _present(self, voucher: Voucher, round_: int) -> Flow[Paid[D] | _Again | None]:
        """Send one voucher until its outcome is known, or the call's retries are used up."""
        uncertain = voucher.shared
        while True:
            try:
                answer = yield from self._ports.send(voucher.header)
            except APIConnectionError as error:
                # It may have arrived: the voucher stays out, and the next call for this search
                # sends it.
                uncertain = True
                yield from self._ports.wait_or_raise(error, None)
                continue
            if answer.status == 200:
                data = self._read(answer)
                receipt = read_channel_receipt(answer.headers)
                payment = yield from self._payer.charged(voucher, receipt)
                return Paid(answer, data, payment)
            challenge = read_challenge(answer.headers) if answer.status == 402 else None
            now_ms = self._ports.runtime.now_ms()
            refusal = error_of(answer, challenge, now_ms)
            receipt_read = read_receipt(answer.headers)
            reason = (receipt_read.reason if receipt_read else None) or (
                challenge.error if challenge else None
            )
            verdict = judge_voucher(answer.status, refusal.code, reason)
            logger.info("the voucher was not taken: %s, %s", verdict, reason)
            if verdict in ("unknown", "later", "failed"):
                uncertain = uncertain or verdict == "unknown"
                try:
                    if not is_retryable(answer.status):
                        raise refusal
                    after = retry_after_seconds(answer.headers, now_ms)
                    yield from self._ports.wait_or_raise(refusal, after)
                except Search402Error:
                    if not uncertain:
                        yield from self._payer.failed(voucher)
                    raise
                continue
            return (yield from self._settle(voucher, verdict, answer, challenge, round_))

    def _settle(
        self,
        voucher: Voucher,
        verdict: str,
        answer: Answer,
        challenge: Challenge | None,
        round_: int,
    ) -> Flow[_Again | None]:
        """Draw the conclusion from a refusal; nothing was charged for it."""
        payer = self._payer
        if verdict in ("correction", "busy"):
            if verdict == "busy":
                yield Sleep(_BUSY_PAUSE_SECONDS * 2.0**round_)
            refused = voucher.entry.value
            if challenge and (yield from payer.correct(voucher.channel, challenge, refused)):
                return _Again(answer)
            logger.warning("the gateway cannot prove what it says of the channel")
        elif verdict == "empty" and voucher.entry.deposit is None:
            yield from payer.is_empty(voucher)
            return _Again(answer)
        elif verdict == "unavailable":
            yield from payer.failed(voucher)
            return None
        elif verdict == "renew" or _is_outdated(voucher.channel.terms, challenge):
            yield from payer.renew(voucher)
            terms = None if challenge is None else (yield from payer.choose(challenge))
            return None if terms is None else _Again(answer, terms)
        yield from payer.stop(voucher)
        return None


def _is_outdated(terms: ChannelTerms, challenge: Challenge | None) -> bool:
    """Return whether the gateway offers other terms by now."""
    offered = [read_terms(one) for one in (challenge.channels if challenge else ())]

    def facts(one: ChannelTerms) -> tuple[int, str, str, int]:
        return (
            one.price,
            one.common.quote.pay_to,
            one.receiver_authorizer,
            one.withdraw_delay,
        )

    known = [facts(one) for one in offered if one is not None]
    return bool(known) and facts(terms) not in known
