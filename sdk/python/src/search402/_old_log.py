"""The log of JSON lines that version 1 of the store wrote: read once, then closed for good."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from .errors import PaymentError
from .records import PaymentRecord

_FIELD_NAMES = {
    "payTo": "pay_to",
    "amountUnits": "amount_units",
    "createdAtMs": "created_at_ms",
    "validBefore": "valid_before",
}
#: JSON, but not a payment: a program of before stops at it with "damaged in line 1".
_CLOSED = b'"moved to SQLite by search402"\n'
#: A version of before held its lock file for one small write.
_LOCK_STALE_SECONDS = 10.0
_LOCK_POLL_SECONDS = 0.005


def needs_import(log: Path) -> bool:
    """Tell whether there is a log that has not been closed."""
    try:
        with log.open("rb") as file:
            return file.read(len(_CLOSED)) != _CLOSED
    except FileNotFoundError:
        return False


def read_log(log: Path) -> list[PaymentRecord]:
    """Return the payments, oldest first.

    Raises:
        PaymentError: when a line cannot be read; a last line that a crash cut short is left out,
            because its change was never acknowledged.

    """
    content = log.read_bytes()
    if content.startswith(_CLOSED):
        # By another process, since this one looked.
        return []
    *lines, _torn = content.split(b"\n")
    records: dict[str, PaymentRecord] = {}
    for number, line in enumerate(lines, 1):
        try:
            record = _decode(line)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            message = f"the payment log {log} is damaged in line {number}; nothing was signed"
            raise PaymentError(message) from error
        records[record.id] = record
    return list(records.values())


def _decode(line: bytes) -> PaymentRecord:
    read: dict[str, Any] = json.loads(line)
    known = {field.name for field in dataclasses.fields(PaymentRecord)}
    named: dict[str, Any] = {_FIELD_NAMES.get(name, name): value for name, value in read.items()}
    named = {name: value for name, value in named.items() if name in known}
    named["amount_units"] = int(named["amount_units"])
    return PaymentRecord(**named)


def close_log(log: Path) -> None:
    """Replace the log by one line that stops every program of before."""
    draft = log.with_name(f"{log.name}.closed")
    descriptor = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_CLOSED)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(log)


@contextlib.contextmanager
def locked_log(log: Path) -> Generator[None, None, None]:
    """Hold the lock file that programs of before hold while they write.

    It was never safe against two that break a stale one at once; what is read under it is entered
    in one transaction, each payment once.
    """
    lock = log.with_name(f"{log.name}.lock")
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            break
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - lock.stat().st_mtime > _LOCK_STALE_SECONDS:
                    lock.unlink()
            time.sleep(_LOCK_POLL_SECONDS)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
