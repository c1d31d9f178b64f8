"""When and how long to wait before the next try."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime

from ._runtime import Runtime

#: A server that asks for more patience than this is not retried; the error tells how long.
RETRY_AFTER_SECONDS_MAX = 60
_FIRST_DELAY_SECONDS = 0.5
_DELAY_SECONDS_MAX = 8.0
_JITTER = 0.25


def is_retryable(status: int) -> bool:
    """Tell whether a status is worth a retry: 408, 429 and every server error."""
    return status in (408, 429) or 500 <= status <= 599


def http_date_seconds(text: str) -> float | None:
    """Read an HTTP date as Unix time in seconds."""
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()


def retry_after_seconds(headers: Mapping[str, str], now_ms: int) -> float | None:
    """Read how long the server asks to wait, never negative.

    ``Retry-After-Ms`` goes first, which some gateways send for waits below a second; then
    ``Retry-After``: a number or an HTTP date (RFC 9110, 10.2.3).
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", milliseconds):
        return float(milliseconds) / 1000
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    at = http_date_seconds(text) if re.search("[A-Za-z]", text) else None
    return None if at is None else max(0, math.ceil(at - now_ms / 1000))


def retry_delay_seconds(retry: int, after_seconds: float | None, runtime: Runtime) -> float | None:
    """Return the wait before retry number ``retry`` (0 is the first).

    None when the server asked for too long a wait. Half a second, doubled each time up to 8 s,
    less up to a quarter.
    """
    if after_seconds is not None:
        return after_seconds if after_seconds <= RETRY_AFTER_SECONDS_MAX else None
    delay = min(_FIRST_DELAY_SECONDS * 2.0**retry, _DELAY_SECONDS_MAX)
    return delay * (1 - _JITTER * runtime.random())
