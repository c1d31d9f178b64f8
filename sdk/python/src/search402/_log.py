"""The log, without secrets."""

from __future__ import annotations

import logging
import os
import re
from typing import TextIO

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


class _Printing(logging.StreamHandler[TextIO]):
    """Prints to the standard error, unless the program has set up logging of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            super().emit(record)


def set_up(level: str) -> None:
    """Set the level and print, as ``SEARCH402_LOG`` says; ignore anything that is not a level."""
    if level.upper() in ("DEBUG", "INFO", "WARN", "WARNING", "ERROR"):
        logger.setLevel(level.upper())
        handler = _Printing()
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        logger.addHandler(handler)


logger.addFilter(_Redacting())
set_up(os.environ.get("SEARCH402_LOG", "").strip())
