"""The log, without secrets."""

from __future__ import annotations

import logging
import os
import re

logger = logging.getLogger("search402")

_SECRET_TEXT = re.compile(
    r"s402_[A-Za-z0-9_]{8,}|Bearer\s+\S+|0x[0-9a-fA-F]{130,}|[A-Za-z0-9+/]{400,}={0,2}"
)


def redact(text: str) -> str:
    """Replace everything that could be spent or used to log in."""
    return _SECRET_TEXT.sub("[redacted]", text)


class _Redacting(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = redact(record.getMessage())
        record.args = None
        return True


logger.addFilter(_Redacting())
_level = os.environ.get("SEARCH402_LOG", "").strip().upper()
if _level in ("DEBUG", "INFO", "WARN", "WARNING", "ERROR"):
    logger.setLevel(_level)
