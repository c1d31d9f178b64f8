"""Where payments are remembered."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from ._sqlite import SqliteTable
from .records import PaymentRecord, PaymentStatus, Spent


class PaymentStore(Protocol):
    """Where payments are remembered.

    The store decides what a restart, or a second client, knows: with a durable one no payment is
    signed twice and caps hold across processes. Called from any thread.
    """

    def reserve(self, new: PaymentRecord, check: Callable[[Spent], None]) -> PaymentRecord:
        """Decide in one step whether a request may be paid.

        When a payment of the same payer for the same URL and body is ``open`` or ``signing``,
        return it and store nothing; ``open`` goes first. Else call ``check`` with what counts
        towards the caps, store ``new`` and return it. What ``check`` raises is raised, and nothing
        is stored. Of any number of concurrent calls for one request, exactly one gets its own
        record back. What is stored is durable before this returns.
        """
        ...

    def replace(self, record: PaymentRecord, *, only_if: Sequence[PaymentStatus]) -> bool:
        """Replace the record with this id while its status is one of ``only_if``.

        Return whether it was: of concurrent calls that exclude each other exactly one is told
        True. Durable before this returns.
        """
        ...

    def find_open(self, payer: str, url: str, body: str) -> PaymentRecord | None:
        """Return the ``open`` payment for a request, if there is one."""
        ...

    def get(self, payment_id: str) -> PaymentRecord | None:
        """Return one record."""
        ...

    def spent(self, now_ms: int) -> Spent:
        """Return what counts towards the caps: all but what is ``released``."""
        ...

    def list(self) -> Sequence[PaymentRecord]:
        """Return all records, oldest first."""
        ...


class MemoryStore(SqliteTable):
    """Keeps payments while the process lives, and forgets them, and what was spent, with it."""

    def __init__(self) -> None:
        super().__init__(None, None)


class FileStore(SqliteTable):
    """Keeps payments in an SQLite file (mode 0600: it holds signed payments).

    Any number of processes may share it. Each decision is one transaction, and it is on the disk
    before it counts. Not for network file systems.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Take the path; the file and its folder are made when they are first needed.

        A path that does not end in ``.sqlite``, ``.sqlite3`` or ``.db`` names a log of JSON lines
        that an earlier version wrote: the payments are then kept beside it, in the file with
        ``.sqlite`` added to its name, and begin with those of the log. The log is emptied, so that
        an earlier version that still runs stops with an error and signs nothing.
        """
        given = Path(path)
        is_database = given.suffix in (".sqlite", ".sqlite3", ".db")
        database = given if is_database else given.with_name(f"{given.name}.sqlite")
        super().__init__(database, None if is_database else given)


def default_store_path() -> Path:
    """Return where payments are kept when no store is given.

    ``SEARCH402_STORE`` in the environment, else ``search402/payments.sqlite`` in the user's state
    directory: ``$XDG_STATE_HOME`` or ``~/.local/state``; on macOS ``~/Library/Application
    Support``; on Windows ``%LOCALAPPDATA%``.
    """
    given = os.environ.get("SEARCH402_STORE", "").strip()
    if given:
        return Path(given)
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        base = Path(local) if local else Path.home() / "AppData" / "Local"
    else:
        state = os.environ.get("XDG_STATE_HOME", "")
        # The XDG specification says to ignore a relative path.
        base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "search402" / "payments.sqlite"
