"""An answer as a value, or as an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ._effects import Answer
from ._retry import retry_after_seconds
from ._wire import Challenge, clock_complaint, read_receipt
from .errors import APIError, PaymentRequiredError, error_class

D = TypeVar("D")

#: Reads the body of a 200, or raises ProtocolError when it does not hold what was asked for.
Read = Callable[[Answer], D]


def parse_json(text: str) -> Any:
    """Return the value of a JSON text, or None when it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def error_of(answer: Answer, challenge: Challenge | None, now_ms: int) -> APIError:
    """Return the typed error for an answer that is not a 200."""
    parsed = parse_json(answer.text)
    fields = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}

    def field(name: str) -> str | None:
        value = fields.get(name)
        return value if isinstance(value, str) else None

    code = field("code")
    error = error_class(answer.status, code)(
        status=answer.status,
        headers=answer.headers,
        body=answer.text if parsed is None else parsed,
        code=code,
        title=field("title"),
        detail=field("detail"),
        request_id=field("requestId") or answer.headers.get("x-request-id"),
        retry_after_seconds=retry_after_seconds(answer.headers, now_ms),
    )
    if isinstance(error, PaymentRequiredError):
        receipt = read_receipt(answer.headers)
        error.reason = (receipt.reason if receipt else None) or (
            challenge.error if challenge else None
        )
        if challenge and challenge.requirements:
            error.quote = challenge.requirements[0].quote
    complaint = clock_complaint(answer.headers, now_ms) if _is_about_time(error) else None
    if complaint is not None:
        error.args = (f"{error} {complaint}",)
    return error


def _is_about_time(error: APIError) -> bool:
    """Tell whether a wrong clock may be why: a window that has passed or lies far ahead."""
    if error.code == "invalid_payment_proof":
        return True
    reason = error.reason if isinstance(error, PaymentRequiredError) else None
    return re.search("valid_(after|before)", reason or "") is not None
