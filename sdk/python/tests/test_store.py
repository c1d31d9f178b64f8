"""What the stores promise, and what an older log becomes."""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import search402 as sdk

DAY_MS = 86_400_000
NOW_MS = 100 * DAY_MS
STORES: list[Callable[[Path], Any]] = [
    lambda _: sdk.MemoryStore(),
    lambda folder: sdk.FileStore(folder / "payments.sqlite"),
]


@pytest.fixture(params=STORES, ids=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    store = request.param(tmp_path)
    yield store
    store.close()


def record(number: int, **more: Any) -> sdk.PaymentRecord:
    """Return a payment that is being signed."""
    made = sdk.PaymentRecord(
        id=f"0x{number:064x}",
        status="signing",
        url="https://example.com/search",
        network="eip155:8453",
        asset="0x01",
        payer="0x02",
        pay_to="0x03",
        amount_units=50,
        created_at_ms=NOW_MS,
        valid_before=NOW_MS // 1000 + 300,
        body=f'{{"query":"{number}"}}',
        audience="https://example.com",
    )
    return dataclasses.replace(made, **more)


def anything(_: sdk.Spent) -> None:
    """Allow every payment."""


def paid(store: Any, number: int, **more: Any) -> None:
    """Put a paid payment."""
    put = record(number, **more)
    assert store.reserve(put, anything) == put
    closed = dataclasses.replace(put, status="paid", body=None)
    assert store.replace(closed, only_if=("signing",))


def test_a_request_has_one_payment_in_doubt(store: Any) -> None:
    first, second = record(1), record(2, body=record(1).body)
    assert store.reserve(first, anything) == first
    assert store.reserve(second, anything) == first
    opened = dataclasses.replace(first, status="open", header="h")
    assert store.replace(opened, only_if=("signing",))
    assert store.reserve(second, anything) == opened
    assert store.find_open("0x02", first.url, first.body) == opened
    assert not store.replace(first.released(), only_if=("signing",))
    for other in (record(3, payer="0x09"), record(4, url="https://other.example/search")):
        assert store.reserve(dataclasses.replace(other, body=first.body), anything).id == other.id
    closed = dataclasses.replace(opened, status="paid", header=None, body=None)
    assert store.replace(closed, only_if=("open", "refused"))
    assert store.reserve(second, anything) == second
    assert [one.id for one in store.list()] == [record(n).id for n in (1, 3, 4, 2)]
    assert store.get(closed.id) == closed


def test_of_many_threads_exactly_one_gets_its_own_payment(tmp_path: Path) -> None:
    path = tmp_path / "payments.sqlite"
    shared = sdk.FileStore(path)

    def reserve(number: int) -> bool:
        put = record(number, body="{}")
        own = shared if number % 2 else sdk.FileStore(path)
        return bool(own.reserve(put, anything).id == put.id)

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(reserve, range(32))) == 1


def test_what_a_check_raises_leaves_nothing_behind(store: Any) -> None:
    def refuse(spent: sdk.Spent) -> None:
        raise sdk.PaymentError(f"{spent.total_units} is enough")

    with pytest.raises(sdk.PaymentError, match="0 is enough"):
        store.reserve(record(1), refuse)
    assert store.list() == []
    paid(store, 1)
    with pytest.raises(sdk.PaymentError, match="50 is enough"):
        store.reserve(record(2), refuse)


def test_spent_is_what_left_within_a_day_and_in_all(store: Any) -> None:
    paid(store, 1, created_at_ms=NOW_MS - DAY_MS)
    paid(store, 2, created_at_ms=NOW_MS - DAY_MS + 1, amount_units=7)
    store.reserve(record(3, amount_units=100), anything)
    assert store.spent(NOW_MS) == sdk.Spent(107, 157)
    paid(store, 4, amount_units=3)
    assert store.replace(record(3, amount_units=100).released(), only_if=("signing",))
    assert store.spent(NOW_MS) == sdk.Spent(10, 60)
    assert store.spent(NOW_MS + 2 * DAY_MS) == sdk.Spent(0, 60)
    refused = record(4, status="refused", amount_units=3, body=None)
    assert store.replace(refused, only_if=("paid",))
    assert store.spent(NOW_MS) == sdk.Spent(10, 60)


def test_a_clock_that_goes_back_never_hides_what_was_spent(store: Any) -> None:
    paid(store, 1, created_at_ms=NOW_MS)
    paid(store, 2, created_at_ms=NOW_MS - 5 * DAY_MS)
    paid(store, 3, created_at_ms=NOW_MS - 5 * DAY_MS)
    assert store.spent(NOW_MS - 5 * DAY_MS).day_units == 150
    assert store.spent(NOW_MS).day_units >= 50


def test_what_a_killed_process_never_signed_is_released_after_the_longest_window(
    store: Any,
) -> None:
    store.reserve(record(1), anything)
    assert store.spent(NOW_MS + 3_599_999).total_units == 50
    assert store.spent(NOW_MS + 3_600_000).total_units == 0
    again = record(2, body=record(1).body, created_at_ms=NOW_MS + 3_600_000)
    assert store.reserve(again, anything) == again


def steps(store: Any, work: Callable[[], object]) -> int:
    """Count the steps that SQLite's machine takes."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    database: sqlite3.Connection = store._opened()
    database.set_progress_handler(count, 1)
    work()
    database.set_progress_handler(None, 1)
    return taken


def fill(store: Any, first: int, last: int) -> None:
    """Put many closed payments in one transaction, spread over the last two days."""
    from search402._schema import transaction
    from search402._sqlite import _insert

    database = store._opened()
    with transaction(database):
        for number in range(first, last):
            at = NOW_MS - 2 * DAY_MS + number
            _insert(database, record(number, status="paid", body=None, created_at_ms=at))


def test_a_record_costs_the_same_beside_fifty_thousand_others(store: Any) -> None:
    def one(number: int) -> None:
        put = record(number, created_at_ms=NOW_MS - DAY_MS)
        store.find_open(put.payer, put.url, put.body)
        assert store.reserve(put, anything) == put
        opened = dataclasses.replace(put, status="open", header="h")
        assert store.replace(opened, only_if=("signing",))
        closed = dataclasses.replace(put, status="paid", body=None)
        assert store.replace(closed, only_if=("open",))
        store.spent(NOW_MS)

    fill(store, 1, 100)
    beside_few = steps(store, lambda: one(100_001))
    fill(store, 101, 50_000)
    beside_many = steps(store, lambda: one(100_002))
    assert beside_many < 2 * beside_few
    assert store.spent(NOW_MS).total_units == 50 * (99 + 1 + 49_899 + 1)


def test_old_records_are_removed_and_still_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from search402 import _sqlite

    monkeypatch.setattr(_sqlite, "_CLOSED_KEPT", 100)
    monkeypatch.setattr(_sqlite, "_PRUNED_EVERY", 10)
    store = sdk.FileStore(tmp_path / "payments.sqlite")
    kept = record(0, status="open", header="h", created_at_ms=NOW_MS - 9 * DAY_MS)
    store.reserve(kept, anything)
    for number in range(1, 300):
        paid(store, number, created_at_ms=NOW_MS - (5 * DAY_MS if number < 250 else 0))
    assert len(store.list()) < 200
    assert store.list()[0] == kept
    assert store.spent(NOW_MS).total_units == 300 * 50
    assert store.spent(NOW_MS).day_units == 50 * 50


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "payments.sqlite"
    mask = os.umask(0)
    try:
        store = sdk.FileStore(path)
        store.reserve(record(1), anything)
    finally:
        os.umask(mask)
    # SQLite's own files beside it as well.
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.chmod(0o644)
    sdk.FileStore(path).list()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_opens_the_file_for_itself(tmp_path: Path) -> None:
    store = sdk.FileStore(tmp_path / "payments.sqlite")
    paid(store, 1)
    child = os.fork()
    if child == 0:
        try:
            paid(store, 2)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    paid(store, 3)
    assert len(store.list()) == 3


def test_a_file_that_is_not_a_store_is_left_alone(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.sqlite"
    garbage.write_bytes(b"garbage " * 1000)
    with pytest.raises(sdk.PaymentError, match="cannot be used.*nothing was signed"):
        sdk.FileStore(garbage).reserve(record(1), anything)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE payments (id)")
    with pytest.raises(sdk.PaymentError, match="another program"):
        sdk.FileStore(other).reserve(record(1), anything)
    newer = tmp_path / "newer.sqlite"
    sdk.FileStore(newer).reserve(record(1), anything)
    with sqlite3.connect(newer) as database:
        database.execute("PRAGMA user_version = 2")
    with pytest.raises(sdk.PaymentError, match="newer version"):
        sdk.FileStore(newer).reserve(record(1), anything)
    folder = tmp_path / "folder.sqlite"
    folder.mkdir()
    with pytest.raises(sdk.PaymentError, match="cannot be used"):
        sdk.FileStore(folder).list()


def test_the_default_store_is_in_the_users_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert sdk.default_store_path() == tmp_path / "state" / "search402" / "payments.sqlite"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    expected = Path.home() / ".local" / "state" / "search402" / "payments.sqlite"
    assert sdk.default_store_path() == expected
    monkeypatch.setenv("SEARCH402_STORE", "/var/lib/here.sqlite")
    assert sdk.default_store_path() == Path("/var/lib/here.sqlite")


OLD_NAMES = {
    "pay_to": "payTo",
    "amount_units": "amountUnits",
    "created_at_ms": "createdAtMs",
    "valid_before": "validBefore",
}


def old_line(one: sdk.PaymentRecord) -> str:
    """Return a payment as versions before SQLite wrote it."""
    fields = dataclasses.asdict(dataclasses.replace(one, audience=None))
    named = {OLD_NAMES.get(name, name): value for name, value in fields.items()}
    named["amountUnits"] = str(one.amount_units)
    return json.dumps({name: value for name, value in named.items() if value is not None}) + "\n"


OPEN = record(1, status="open", header="h", body='{"query":"ä"}', audience=None)
PAID = record(2, status="paid", body=None, transaction="0xaa", audience=None)


def old_log(folder: Path, more: str = "") -> Path:
    log = folder / "payments.jsonl"
    lines = [old_line(record(1, audience=None)), old_line(PAID), old_line(OPEN)]
    log.write_text("".join(lines) + more, encoding="utf-8")
    return log


def test_a_log_of_before_is_taken_over_and_closed(tmp_path: Path) -> None:
    log = old_log(tmp_path, '{"id":"0x04","sta')
    store = sdk.FileStore(log)
    assert store.list() == [OPEN, PAID]
    assert store.spent(NOW_MS).total_units == 100
    assert store.find_open(OPEN.payer, OPEN.url, OPEN.body or "") == OPEN
    # A program of before would read a line that is no payment, and stop.
    assert json.loads(log.read_text()) == "moved to SQLite by search402"
    paid(store, 3)
    assert len(sdk.FileStore(log).list()) == 3
    assert not (tmp_path / "payments.jsonl.lock").exists()


def test_a_log_that_is_written_again_is_taken_over_again(tmp_path: Path) -> None:
    log = old_log(tmp_path)
    closed = dataclasses.replace(OPEN, status="paid", header=None, body=None)
    assert sdk.FileStore(log).replace(closed, only_if=("open",))
    # As if the process had been killed before it closed the log.
    old_log(tmp_path, old_line(record(7, status="open", header="h")))
    statuses = [one.status for one in sdk.FileStore(log).list()]
    assert statuses == ["paid", "paid", "open"]


def test_a_stale_lock_that_many_break_at_once_enters_each_payment_once(tmp_path: Path) -> None:
    log = old_log(tmp_path)
    lock = tmp_path / "payments.jsonl.lock"
    lock.touch()
    os.utime(lock, (time.time() - 11, time.time() - 11))

    def open_store(_: int) -> int:
        return len(sdk.FileStore(log).list())

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(open_store, range(8))) == {2}
    assert sdk.FileStore(log).spent(NOW_MS).total_units == 100


def test_a_damaged_log_is_an_error_and_stays_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "payments.jsonl"
    log.write_text("garbage\n")
    with pytest.raises(sdk.PaymentError, match="damaged in line 1; nothing was signed"):
        sdk.FileStore(log).reserve(record(1), anything)
    assert log.read_text() == "garbage\n"
