"""Everything that this package raises on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ._dict import ToDict, plain
from .records import PaymentView, Quote

#: The service's closed list of ``code`` values.
ERROR_CODES: frozenset[str] = frozenset(
    {
        "malformed_request",
        "malformed_payment",
        "ambiguous_credentials",
        "missing_api_key",
        "invalid_api_key",
        "invalid_payment_proof",
        "wallet_sign_in_required",
        "payment_required",
        "payment_invalid",
        "authorization_bound_to_other_request",
        "settlement_failed",
        "insufficient_credits",
        "account_suspended",
        "payer_denied",
        "plan_restricted",
        "not_found",
        "method_not_allowed",
        "request_timeout",
        "payment_identifier_conflict",
        "payload_too_large",
        "unsupported_media_type",
        "unsupported_parameter",
        "invalid_parameter",
        "idempotency_key_reused",
        "rate_limited",
        "internal_error",
        "upstream_error",
        "service_unavailable",
        "payments_unavailable",
        "chain_unavailable",
        "contract_payer_deferred",
        "settlement_pending",
        "idempotency_pending",
        "upstream_timeout",
    }
)


def _restore(
    kind: type[Search402Error], args: tuple[Any, ...], fields: dict[str, Any]
) -> Search402Error:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class Search402Error(Exception, ToDict):
    """The root of this package's errors.

    ``payment`` is the payment that the call had signed, if any. Its status ``open`` means that the
    outcome is not known: make the same call again and the same payment is sent, never a second one.
    """

    payment: PaymentView | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are pickled by their positional arguments, and some here have others.
        return _restore, (type(self), self.args, self.__dict__.copy())

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that ``json.dumps`` takes: for logs and for agents."""
        fields = {**self.__dict__, "payment": self.payment}
        known = {_DICT_NAMES[name]: plain(fields.get(name)) for name in _DICT_NAMES}
        known = {name: value for name, value in known.items() if value is not None}
        return {"error": type(self).__name__, "message": str(self), **known}


#: What an error's dict holds, where the error has it. Headers are left out: they may be secret.
_DICT_NAMES = {
    "status": "status",
    "code": "code",
    "title": "title",
    "detail": "detail",
    "request_id": "requestId",
    "retry_after_seconds": "retryAfterSeconds",
    "reason": "reason",
    "quote": "quote",
    "cap": "cap",
    "limit_units": "limitUnits",
    "spent_units": "spentUnits",
    "amount_units": "amountUnits",
    "payment": "payment",
}


class ConfigurationError(Search402Error):
    """The options or the environment are wrong; nothing was sent."""


class APIConnectionError(Search402Error):
    """No complete answer arrived: refused, reset, cut off in the middle, DNS, TLS."""


class APITimeoutError(APIConnectionError):
    """No complete answer arrived within ``timeout`` seconds."""


class ProtocolError(Search402Error):
    """An answer arrived that breaks the protocol."""


class APIError(Search402Error):
    """The service answered with an error status."""

    def __init__(
        self,
        *,
        status: int,
        headers: Mapping[str, str],
        body: Any,
        code: str | None = None,
        title: str | None = None,
        detail: str | None = None,
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        what = detail or title or "no explanation was given"
        super().__init__(f"{status}{'' if code is None else f' {code}'}: {what}")
        #: The HTTP status.
        self.status = status
        #: One of :data:`ERROR_CODES`; None when something other than the service answered.
        self.code = code
        self.title = title
        self.detail = detail
        #: Quote it when you ask for support.
        self.request_id = request_id
        #: From the ``Retry-After-Ms`` or ``Retry-After`` header.
        self.retry_after_seconds = retry_after_seconds
        self.headers = headers
        #: The parsed JSON body, or its text.
        self.body = body

    @property
    def status_code(self) -> int:
        """The same as ``status``, as generated SDKs spell it."""
        return self.status


class BadRequestError(APIError):
    """400"""


class AuthenticationError(APIError):
    """401: the key is missing or wrong."""


class PaymentRequiredError(APIError):
    """402: credits are used up, or a payment is asked for or was refused."""

    #: What the gateway asks for, when it sent a readable challenge.
    quote: Quote | None = None
    #: Why the gateway refused the payment, in the protocol's words.
    reason: str | None = None


class PermissionDeniedError(APIError):
    """403"""


class NotFoundError(APIError):
    """404"""


class MethodNotAllowedError(APIError):
    """405"""


class RequestTimeoutError(APIError):
    """408"""


class ConflictError(APIError):
    """409"""


class PayloadTooLargeError(APIError):
    """413"""


class UnsupportedMediaTypeError(APIError):
    """415"""


class UnprocessableContentError(APIError):
    """422: a parameter is unsupported, out of bounds or of the wrong type."""


class RateLimitError(APIError):
    """429"""


class ServerError(APIError):
    """Any 5xx."""


class SettlementPendingError(ServerError):
    """503 ``settlement_pending``: paid or not is not known yet; make the same call again."""


_BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: PaymentRequiredError,
    403: PermissionDeniedError,
    404: NotFoundError,
    405: MethodNotAllowedError,
    408: RequestTimeoutError,
    409: ConflictError,
    413: PayloadTooLargeError,
    415: UnsupportedMediaTypeError,
    422: UnprocessableContentError,
    429: RateLimitError,
}


def error_class(status: int, code: str | None) -> type[APIError]:
    """Return the class for a status and a code."""
    if code == "settlement_pending":
        return SettlementPendingError
    return _BY_STATUS.get(status, ServerError if status >= 500 else APIError)


class PaymentError(Search402Error):
    """The package, or the caller's limits, refused to pay; nothing was signed for this try."""


class CapExceededError(PaymentError):
    """Paying would exceed a cap."""

    def __init__(
        self,
        message: str,
        *,
        cap: Literal["max_per_request", "max_per_day", "max_total", "max_deposit"],
        limit_units: int,
        spent_units: int,
        amount_units: int,
    ) -> None:
        super().__init__(message)
        self.cap = cap
        #: The cap in atomic USDC.
        self.limit_units = limit_units
        #: What counts towards it already.
        self.spent_units = spent_units
        #: What this request would add.
        self.amount_units = amount_units


class PaymentNotAllowedError(PaymentError):
    """The quote is for a network, asset or payee that is not on the caller's lists."""


class SigningError(PaymentError):
    """The signer did not sign."""


class PaymentLostError(PaymentError):
    """A payment was used on chain, or may have been, and its reply can no longer be fetched.

    It counts towards the caps. Nothing new was signed; the next call for the same search does.
    """
