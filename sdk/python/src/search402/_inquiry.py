"""Asks the gateway what became of a payment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

from ._effects import Answer, Flow, Send, send
from ._log import logger
from ._payer import Payer
from ._reply import Read, error_of, parse_json
from ._retry import is_retryable
from ._runtime import Runtime
from ._status import PaymentState, parse_payment_state, status_url
from ._verdict import Verdict
from .errors import APIConnectionError, APIError, ConfigurationError, Search402Error
from .records import PaymentRecord

D = TypeVar("D")

#: Why nothing is told: asking ``later`` may help, or this service ``never`` tells.
Silence = Literal["later", "never"]


def verdict_after(state: PaymentState, valid_before: int) -> Verdict:
    """Judge a payment by what the gateway says of it."""
    if state.cannot_be_charged(valid_before):
        return "refused"
    return "used" if state.was_charged() else "unknown"


class Inquiry:
    """``GET /payments/{nonce}`` and its reply, each with a proof that the payer signs."""

    def __init__(
        self, payer: Payer, runtime: Runtime, timeout: float, headers: Mapping[str, str]
    ) -> None:
        self._payer = payer
        self._runtime = runtime
        self._timeout = timeout
        self._headers = headers

    def state(self, record: PaymentRecord, issued_at: int) -> Flow[PaymentState]:
        """Ask once.

        Raises:
            APIError: when the gateway does not tell.
            APIConnectionError: when no complete answer arrives.
            SigningError: when the wallet does not sign the question.

        """
        answer = yield from self._get(status_url(record), record, issued_at)
        state = parse_payment_state(parse_json(answer.text))
        if state.nonce.lower() != record.id.lower():
            raise ConfigurationError("the gateway told about another payment")
        return state

    def try_state(self, record: PaymentRecord, issued_at: int) -> Flow[PaymentState | Silence]:
        """Ask once; say why where that does not tell."""
        try:
            return (yield from self.state(record, issued_at))
        except APIConnectionError as error:
            logger.debug("the gateway cannot be asked about the payment: %s", error)
            return "later"
        except APIError as error:
            logger.debug("the gateway does not tell about the payment: %s", error)
            return "later" if is_retryable(error.status) else "never"
        except Search402Error as error:
            logger.debug("nobody tells about the payment: %s", error)
            return "never"

    def try_reply(
        self, record: PaymentRecord, issued_at: int, read: Read[D]
    ) -> Flow[tuple[Answer, D] | None]:
        """Fetch the reply that was paid for; None when there is none to be had."""
        try:
            answer = yield from self._get(f"{status_url(record)}/reply", record, issued_at)
            return answer, read(answer)
        except Search402Error as error:
            logger.debug("the reply cannot be fetched: %s", error)
            return None

    def _get(self, url: str, record: PaymentRecord, issued_at: int) -> Flow[Answer]:
        proof = yield from self._payer.prove(record, issued_at)
        if proof is None:
            raise ConfigurationError("this wallet cannot ask about that payment")
        headers = {**self._headers, "accept": "application/json", "payment-proof": proof}
        answer = yield from send(Send(url, None, headers, self._timeout))
        if answer.status != 200:
            raise error_of(answer, None, self._runtime.now_ms())
        return answer
