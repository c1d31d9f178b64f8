"""Payments in one SQLite table, where one transaction decides."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from ._old_log import close_log, locked_log, needs_import, read_log
from ._schema import (
    CHANNELS,
    COLUMNS,
    FIELDS,
    HOLES,
    SCHEMA_VERSION,
    check_owner,
    make_schema,
    transaction,
    version_of,
)
from .errors import PaymentError
from .records import WINDOW_SECONDS_MAX, ChannelRecord, PaymentRecord, PaymentStatus, Spent

_DAY_MS = 24 * 60 * 60 * 1000
_BUSY_SECONDS = 30.0
#: Closed records beyond this many are removed once they are two days old; what they add up to
#: stays in ``counted_before`` of the next one.
_CLOSED_KEPT = 100_000
_CLOSED_KEPT_MS = 2 * _DAY_MS
_PRUNED_EVERY = 1_000


class SqliteTable:
    """The records; see PaymentStore for what its methods promise."""

    def __init__(self, path: Path | None, old_log: Path | None) -> None:
        self._path = path
        self._old_log = old_log
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0

    def reserve(self, new: PaymentRecord, check: Callable[[Spent], None]) -> PaymentRecord:
        """See PaymentStore."""
        with self._deciding() as database:
            _release_abandoned(database, new.created_at_ms)
            held = _one(
                database,
                "payer = ? AND url = ? AND body = ? AND status IN ('signing', 'open')"
                " ORDER BY status, seq",
                (new.payer, new.url, new.body),
            )
            if held is not None:
                return held
            check(_spent(database, new.created_at_ms))
            sequence = _insert(database, new)
            if sequence % _PRUNED_EVERY == 0:
                _prune(database, sequence, new.created_at_ms)
            return new

    def replace(self, record: PaymentRecord, *, only_if: Sequence[PaymentStatus]) -> bool:
        """See PaymentStore."""
        with self._deciding() as database:
            return _replace(database, record, only_if)

    def find_open(self, payer: str, url: str, body: str) -> PaymentRecord | None:
        """See PaymentStore."""
        with self._using() as database:
            return _one(
                database,
                "payer = ? AND url = ? AND body = ? AND status IN ('signing', 'open')"
                " AND status = 'open' ORDER BY seq",
                (payer, url, body),
            )

    def get(self, payment_id: str) -> PaymentRecord | None:
        """See PaymentStore."""
        with self._using() as database:
            return _one(database, "id = ?", (payment_id,))

    def spent(self, now_ms: int) -> Spent:
        """See PaymentStore."""
        with self._deciding() as database:
            _release_abandoned(database, now_ms)
            return _spent(database, now_ms)

    def list(self) -> Sequence[PaymentRecord]:
        """See PaymentStore."""
        with self._using() as database:
            rows = database.execute(f"SELECT {COLUMNS} FROM payments ORDER BY seq").fetchall()
        return [_record(row) for row in rows]

    def change_channel(
        self, channel_id: str, change: Callable[[ChannelRecord | None], ChannelRecord | None]
    ) -> None:
        """See ChannelStore."""
        with self._deciding() as database:
            database.execute(CHANNELS)
            after = change(_channel(database, channel_id))
            if after is not None:
                database.execute(
                    "INSERT INTO channels (id, url, payer, created_at_ms, state)"
                    " VALUES (?, ?, ?, ?, ?)"
                    " ON CONFLICT (id) DO UPDATE SET state = excluded.state",
                    (after.id, after.url, after.payer, after.created_at_ms, after.state),
                )

    def channel(self, channel_id: str) -> ChannelRecord | None:
        """See ChannelStore."""
        with self._deciding() as database:
            database.execute(CHANNELS)
            return _channel(database, channel_id)

    def channels(self, payer: str, url: str) -> Sequence[ChannelRecord]:
        """See ChannelStore."""
        with self._deciding() as database:
            database.execute(CHANNELS)
            rows = database.execute(
                "SELECT id, url, payer, created_at_ms, state FROM channels"
                " WHERE payer = ? AND url = ? ORDER BY created_at_ms",
                (payer, url),
            ).fetchall()
        return [ChannelRecord(*row) for row in rows]

    def close(self) -> None:
        """Close the file. The next use opens it again; what was in memory only is gone."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @contextlib.contextmanager
    def _using(self) -> Generator[sqlite3.Connection, None, None]:
        with self._lock:
            try:
                yield self._opened()
            except (sqlite3.Error, OSError, OverflowError) as error:
                raise self._unusable(error) from error

    @contextlib.contextmanager
    def _deciding(self) -> Generator[sqlite3.Connection, None, None]:
        with self._using() as database, transaction(database):
            yield database

    def _unusable(self, error: Exception) -> PaymentError:
        return PaymentError(
            f"the payment store {self._path or 'in memory'} cannot be used: {error}; nothing was"
            " signed. Another place is given by store=FileStore(path) or SEARCH402_STORE"
        )

    def _opened(self) -> sqlite3.Connection:
        if self._path is None:
            if self._connection is None:
                self._connection = _connect(":memory:")
                with transaction(self._connection):
                    make_schema(self._connection)
            return self._connection
        if self._connection is None or self._process != os.getpid():
            # A connection must not be carried over a fork.
            _INHERITED.append(self._connection)
            self._connection = self._open_file(self._path)
            self._process = os.getpid()
        return self._connection

    def _open_file(self, path: Path) -> sqlite3.Connection:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # SQLite would make it readable for others; its journals take over the mode of the file.
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            if os.fstat(descriptor).st_mode & 0o077 and os.name == "posix":
                os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        database = _connect(str(path))
        try:
            self._prepare(database, path)
        except BaseException:
            database.close()
            raise
        return database

    def _prepare(self, database: sqlite3.Connection, path: Path) -> None:
        check_owner(database, path)
        _use_write_ahead_log(database)
        # Each commit is on the disk before it returns.
        database.execute("PRAGMA synchronous = FULL")
        log = self._old_log if self._old_log is not None and needs_import(self._old_log) else None
        if version_of(database) == SCHEMA_VERSION and log is None:
            return
        with transaction(database):
            if version_of(database) == 0:
                make_schema(database)
        if log is not None:
            with locked_log(log):
                with transaction(database):
                    for record in read_log(log):
                        if _one(database, "id = ?", (record.id,)) is None:
                            _insert(database, record)
                # After a crash here the log is read once more, to no effect.
                close_log(log)


#: Connections of the process that this one was forked from: not to be closed here.
_INHERITED: list[sqlite3.Connection | None] = []


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(
        name, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def _use_write_ahead_log(database: sqlite3.Connection) -> None:
    """Commit with one write to the disk instead of four. The file keeps the mode."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while database.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            # For this change SQLite does not wait for another process by itself.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _channel(database: sqlite3.Connection, channel_id: str) -> ChannelRecord | None:
    row = database.execute(
        "SELECT id, url, payer, created_at_ms, state FROM channels WHERE id = ?", (channel_id,)
    ).fetchone()
    return None if row is None else ChannelRecord(*row)


def _record(row: Sequence[Any]) -> PaymentRecord:
    return PaymentRecord(**dict(zip(FIELDS, row, strict=True)))


def _one(database: sqlite3.Connection, where: str, values: Sequence[Any]) -> PaymentRecord | None:
    query = f"SELECT {COLUMNS} FROM payments WHERE {where} LIMIT 1"
    row = database.execute(query, tuple(values)).fetchone()
    return None if row is None else _record(row)


def _values(record: PaymentRecord) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in FIELDS)


def _last(database: sqlite3.Connection) -> tuple[int, int]:
    """Return what counts in all, and the latest time of any row."""
    row = database.execute(
        "SELECT counted_before + (status <> 'released') * amount_units, latest_ms"
        " FROM payments ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def _insert(database: sqlite3.Connection, record: PaymentRecord) -> int:
    total, latest_ms = _last(database)
    cursor = database.execute(
        f"INSERT INTO payments ({COLUMNS}, counted_before, latest_ms) VALUES ({HOLES}, ?, ?)",
        (*_values(record), total, max(latest_ms, record.created_at_ms)),
    )
    return cursor.lastrowid or 0


def _spent(database: sqlite3.Connection, now_ms: int) -> Spent:
    total, _ = _last(database)
    # Every row before the first one with a later time is older than a day, whatever the clock did.
    row = database.execute(
        "SELECT counted_before FROM payments WHERE latest_ms > ? ORDER BY latest_ms, seq LIMIT 1",
        (now_ms - _DAY_MS,),
    ).fetchone()
    return Spent(0 if row is None else total - row[0], total)


def _replace(
    database: sqlite3.Connection, record: PaymentRecord, only_if: Sequence[PaymentStatus]
) -> bool:
    assignments = ", ".join(f'"{name}" = ?' for name in FIELDS)
    holes = ", ".join("?" * len(only_if))
    changed = database.execute(
        f"UPDATE payments SET {assignments} WHERE id = ? AND status IN ({holes})",
        (*_values(record), record.id, *only_if),
    ).rowcount
    if changed and record.status == "released":
        database.execute(
            "UPDATE payments SET counted_before = counted_before - ?"
            " WHERE seq > (SELECT seq FROM payments WHERE id = ?)",
            (record.amount_units, record.id),
        )
    return changed > 0


def _release_abandoned(database: sqlite3.Connection, now_ms: int) -> None:
    """Release what killed processes left unsigned: after the longest window it is of no use."""
    rows = database.execute(
        f"SELECT {COLUMNS} FROM payments WHERE status = 'signing' AND created_at_ms <= ?",
        (now_ms - WINDOW_SECONDS_MAX * 1000,),
    ).fetchall()
    for row in rows:
        _replace(database, _record(row).released(), ("signing",))


def _prune(database: sqlite3.Connection, sequence: int, now_ms: int) -> None:
    database.execute(
        "DELETE FROM payments WHERE seq <= ? AND latest_ms < ?"
        " AND status NOT IN ('signing', 'open')",
        (sequence - _CLOSED_KEPT, now_ms - _CLOSED_KEPT_MS),
    )
