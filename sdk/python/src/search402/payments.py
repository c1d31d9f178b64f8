"""What is paid, within which limits, and where it is remembered."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from ._money import Money
from .errors import PaymentError

#: Base mainnet, where the service sells.
BASE_MAINNET = "eip155:8453"
#: USDC on Base mainnet.
BASE_USDC = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"

#: Where a payment stands, as far as this side knows.
#:
#: - ``signing``: the amount is set aside; no signature has left this process.
#: - ``open``: signed and perhaps sent; the outcome is not known.
#: - ``paid``: its search was answered.
#: - ``refused``: the gateway said that it will not be used. It still counts towards the caps,
#:   because that is only the gateway's word: a signed authorization can be executed by anyone.
#: - ``released``: no signature was made.
PaymentStatus = Literal["signing", "open", "paid", "refused", "released"]

#: No quote is signed for a longer window: a signed authorization should not lie around.
WINDOW_SECONDS_MAX = 3600


@dataclass(frozen=True)
class Quote:
    """What a gateway asks for one search."""

    #: Atomic USDC.
    amount_units: int
    #: The same in dollars.
    amount_usd: str
    #: CAIP-2, such as ``eip155:8453``.
    network: str
    asset: str
    pay_to: str
    #: How long a payment may stay valid.
    max_timeout_seconds: int


@dataclass(frozen=True)
class PaymentView:
    """A payment as errors, hooks and lists show it: without the signed header."""

    #: The authorization's nonce, 32 bytes of hex.
    id: str
    status: PaymentStatus
    #: What it pays for.
    url: str
    network: str
    asset: str
    payer: str
    pay_to: str
    #: Atomic USDC.
    amount_units: int
    #: Milliseconds since the Unix epoch.
    created_at_ms: int
    #: Unix time in seconds after which nobody can execute it.
    valid_before: int
    #: The settling transaction, from the receipt.
    transaction: str | None = None
    #: Why it was refused, in the protocol's words.
    reason: str | None = None


@dataclass(frozen=True)
class PaymentRecord(PaymentView):
    """One payment in a store. Anyone who holds ``header`` can have it settled: keep it private."""

    #: The exact request body; removed once the payment is closed.
    body: str | None = None
    #: The PAYMENT-SIGNATURE header; only while ``open``.
    header: str | None = dataclasses.field(default=None, repr=False)

    def view(self) -> PaymentView:
        """Return the payment without what could be spent, and without what was asked."""
        fields = dataclasses.fields(PaymentView)
        return PaymentView(**{field.name: getattr(self, field.name) for field in fields})

    def counts(self, now_ms: int) -> bool:
        """Tell whether it stands in the way of a cap: all but those that nobody can execute.

        A ``signing`` record that a killed process left behind stops counting after the longest
        window.
        """
        if self.status == "released":
            return False
        return self.status != "signing" or self.created_at_ms + WINDOW_SECONDS_MAX * 1000 > now_ms


#: A change to the present records; returns the record to store, if any.
Change = Callable[[Mapping[str, PaymentRecord]], PaymentRecord | None]


class PaymentStore(Protocol):
    """Where payments are remembered.

    The store decides what a restart, or a second client, knows: with a durable one no payment is
    signed twice and caps hold across processes. Called from any thread.
    """

    def update(self, change: Change) -> None:
        """Run ``change`` on the present records with no other change in between.

        Makes the record that it returns (new, or replacing the one with its id) durable before it
        returns. What ``change`` raises is raised, and nothing is stored.
        """
        ...

    def list(self) -> Sequence[PaymentRecord]:
        """Return all records, oldest first."""
        ...


@dataclass(frozen=True)
class PaymentOptions:
    """How a client may pay: caps, allow-lists, the store and hooks."""

    #: One payment; 0.01 USD unless told otherwise.
    max_per_request: Money = "0.01"
    #: All payments of any 24 hours; 1 USD unless told otherwise.
    max_per_day: Money = "1"
    #: All payments in the store; no limit unless told otherwise.
    max_total: Money | None = None
    #: CAIP-2 networks.
    networks: Sequence[str] = (BASE_MAINNET,)
    #: Token addresses.
    assets: Sequence[str] = (BASE_USDC,)
    #: Payees; any unless told otherwise, because the caps bound what one can take.
    payees: Sequence[str] | None = None
    #: Where payments are remembered; in memory unless told otherwise.
    store: PaymentStore | None = None
    #: Asked before each signature; a false answer is a refusal to pay. May be ``async`` with the
    #: async client.
    approve: Callable[[Quote], bool | Awaitable[bool]] | None = None
    #: Told of each signed payment (``open``) and of each outcome. What it raises is ignored.
    on_payment: Callable[[PaymentView], None] | None = None


_CLOSED_RECORDS_MAX = 10_000
_KEPT_MS = 48 * 60 * 60 * 1000
_CARRIED = "0xcarried"


def carry_over(records: dict[str, PaymentRecord], now_ms: int) -> bool:
    """Sum closed records older than two days into one when there are very many.

    The total cap still sees the sum. Returns whether anything was removed.
    """
    if len(records) <= _CLOSED_RECORDS_MAX:
        return False
    old = [
        record
        for record in records.values()
        if record.created_at_ms < now_ms - _KEPT_MS and record.status not in ("open", "signing")
    ]
    if not old:
        return False
    amount = sum(record.amount_units for record in old if record.status != "released")
    carried = dataclasses.replace(old[0], id=_CARRIED, status="paid", amount_units=amount)
    for record in old:
        del records[record.id]
    records[_CARRIED] = carried
    return True


class MemoryStore:
    """Keeps payments while the process lives; the default."""

    def __init__(self) -> None:
        self._records: dict[str, PaymentRecord] = {}
        self._lock = threading.Lock()

    def update(self, change: Change) -> None:
        """See :class:`PaymentStore`."""
        with self._lock:
            put = change(self._records)
            if put is not None:
                self._records[put.id] = put
                carry_over(self._records, put.created_at_ms)

    def list(self) -> Sequence[PaymentRecord]:
        """See :class:`PaymentStore`."""
        with self._lock:
            return list(self._records.values())


#: The names in the file, which the TypeScript client shares.
_JSON_NAMES = {
    "pay_to": "payTo",
    "amount_units": "amountUnits",
    "created_at_ms": "createdAtMs",
    "valid_before": "validBefore",
}
_FIELD_NAMES = {json_name: name for name, json_name in _JSON_NAMES.items()}
_LOCK_STALE_SECONDS = 10.0
_LOCK_PATIENCE_SECONDS = 30.0
_LOCK_POLL_SECONDS = 0.005
_DEAD_LINES_MAX = 2_000


def _encode(record: PaymentRecord) -> bytes:
    fields = {
        _JSON_NAMES.get(name, name): value
        for name, value in dataclasses.asdict(record).items()
        if value is not None
    }
    fields["amountUnits"] = str(record.amount_units)
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _decode(line: bytes) -> PaymentRecord:
    read: dict[str, Any] = json.loads(line)
    known = {field.name for field in dataclasses.fields(PaymentRecord)}
    named: dict[str, Any] = {_FIELD_NAMES.get(name, name): value for name, value in read.items()}
    named = {name: value for name, value in named.items() if name in known}
    named["amount_units"] = int(named["amount_units"])
    return PaymentRecord(**named)


@dataclass
class _Book:
    records: dict[str, PaymentRecord]
    lines: int
    #: Whether a crash cut the last line short; its change was never acknowledged.
    is_torn: bool


class FileStore:
    """Keeps payments in a file of JSON lines (mode 0600: it holds signed payments).

    Several processes may share it, also with the TypeScript client; each change holds a lock file
    and is flushed to the disk before it counts. Not for network file systems.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()

    def update(self, change: Change) -> None:
        """See :class:`PaymentStore`."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._lock, self._lock_file():
            book = self._read()
            put = change(book.records)
            if put is not None:
                self._write(book, put)

    def list(self) -> Sequence[PaymentRecord]:
        """See :class:`PaymentStore`."""
        return list(self._read().records.values())

    def _read(self) -> _Book:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return _Book({}, 0, False)
        *lines, tail = content.split(b"\n")
        records: dict[str, PaymentRecord] = {}
        for number, line in enumerate(lines, 1):
            try:
                record = _decode(line)
            except (ValueError, TypeError, KeyError) as error:
                raise PaymentError(
                    f"the payment log {self._path} is damaged in line {number}; nothing was signed"
                ) from error
            records[record.id] = record
        return _Book(records, len(lines), tail != b"")

    def _write(self, book: _Book, put: PaymentRecord) -> None:
        records = book.records
        records[put.id] = put
        carried = carry_over(records, put.created_at_ms)
        if not book.is_torn and not carried and book.lines - len(records) < _DEAD_LINES_MAX:
            _write_flushed(self._path, os.O_APPEND, _encode(put))
        else:
            draft = self._path.with_name(f"{self._path.name}.new")
            _write_flushed(draft, os.O_TRUNC, b"".join(map(_encode, records.values())))
            draft.replace(self._path)
        if book.lines == 0 or book.is_torn:
            _sync_directory(self._path.parent)

    @contextlib.contextmanager
    def _lock_file(self) -> Generator[None, None, None]:
        lock = self._path.with_name(f"{self._path.name}.lock")
        deadline = time.monotonic() + _LOCK_PATIENCE_SECONDS
        while True:
            try:
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                break
            except FileExistsError:
                pass
            with contextlib.suppress(FileNotFoundError):
                if time.time() - lock.stat().st_mtime > _LOCK_STALE_SECONDS:
                    lock.unlink()
            if time.monotonic() > deadline:
                raise PaymentError(f"the payment log stays locked; is {lock} left over?")
            time.sleep(_LOCK_POLL_SECONDS)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _write_flushed(path: Path, flag: int, content: bytes) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | flag, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    """Make a new name durable, where the platform lets directories be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
