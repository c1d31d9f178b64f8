"""The one table that payments are kept in, and whose file it is."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Generator
from pathlib import Path
from typing import Literal

from .errors import PaymentError

#: "S402": a file of another program is never written to.
_APPLICATION_ID = 0x53343032
SCHEMA_VERSION = 1

FIELDS = (
    *("id", "status", "url", "network", "asset", "payer", "pay_to", "amount_units"),
    *("created_at_ms", "valid_before", "transaction", "reason", "body", "header", "audience"),
)
COLUMNS = ", ".join(f'"{name}"' for name in FIELDS)
HOLES = ", ".join("?" * len(FIELDS))
_SCHEMA = f"""
CREATE TABLE payments (
  -- The order in which payments were set aside.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL CHECK (status IN ('signing', 'open', 'paid', 'refused', 'released')),
  url TEXT NOT NULL,
  network TEXT NOT NULL,
  asset TEXT NOT NULL,
  payer TEXT NOT NULL,
  pay_to TEXT NOT NULL,
  amount_units INTEGER NOT NULL CHECK (amount_units >= 0),
  created_at_ms INTEGER NOT NULL,
  valid_before INTEGER NOT NULL,
  "transaction" TEXT,
  reason TEXT,
  -- What was asked; only until the payment is closed.
  body TEXT,
  -- The signed payment; only while it is open. Whoever holds it can have it settled.
  header TEXT,
  audience TEXT,
  -- Atomic USDC of all earlier rows that count: a cap costs two look-ups, however many rows.
  counted_before INTEGER NOT NULL,
  -- The latest created_at_ms up to this row, so that it never falls, even if a clock does.
  latest_ms INTEGER NOT NULL
);
CREATE INDEX payments_in_doubt ON payments (payer, url, body) WHERE status IN ('signing', 'open');
CREATE INDEX payments_unsigned ON payments (created_at_ms) WHERE status = 'signing';
CREATE INDEX payments_by_time ON payments (latest_ms);
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""


#: Beside the payments, and made when the first channel is: earlier versions do not mind it.
CHANNELS = """
CREATE TABLE IF NOT EXISTS channels (
  id TEXT NOT NULL PRIMARY KEY,
  url TEXT NOT NULL,
  payer TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  -- Terms, what is charged, and the vouchers that are out, as JSON.
  state TEXT NOT NULL
)
"""


def _statements(script: str) -> Generator[str, None, None]:
    # executescript would commit the transaction that the schema is made in.
    for statement in script.split(";\n"):
        if statement.strip():
            yield statement


@contextlib.contextmanager
def transaction(
    database: sqlite3.Connection, kind: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE"
) -> Generator[None, None, None]:
    # IMMEDIATE: what is read here cannot change before what is written.
    database.execute(f"BEGIN {kind}")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def version_of(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def check_owner(database: sqlite3.Connection, path: Path) -> None:
    # One snapshot: another process may be making the schema.
    with transaction(database, "DEFERRED"):
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        owner = database.execute("PRAGMA application_id").fetchone()[0]
        version = version_of(database)
    if tables and owner != _APPLICATION_ID:
        raise PaymentError(f"{path} is the database of another program; nothing was signed")
    if version > SCHEMA_VERSION:
        raise PaymentError(f"a newer version of search402 made {path}; nothing was signed")


def make_schema(database: sqlite3.Connection) -> None:
    for statement in _statements(_SCHEMA):
        database.execute(statement)
