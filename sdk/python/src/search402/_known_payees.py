"""Who may be paid where the caller has not said it."""

from __future__ import annotations

from ._effects import Flow, run
from .errors import PaymentNotAllowedError
from .options import PaymentOptions
from .stores import PaymentStore


class KnownPayees:
    """Holds each service to the payee that it was first paid at.

    Another one may be somebody who has put himself between. A list of payees, or a caller who
    approves each quote, decides instead.
    """

    def __init__(self, options: PaymentOptions, store: PaymentStore) -> None:
        self._is_decided = options.payees is not None or options.approve is not None
        self._store = store
        #: The first payee of each service; the store's once it was read.
        self._first: dict[str, str] = {}
        self._has_read = False

    def check(self, url: str, pay_to: str) -> Flow[None]:
        """Check one payee, and hold the service to it from now on.

        Raises:
            PaymentNotAllowedError: when the service was paid at another address before.

        """
        if self._is_decided:
            return
        if not self._has_read:
            yield from self._read()
        # One step: of two calls at once, the later one finds the payee of the earlier one.
        known = self._first.setdefault(url, pay_to)
        if known != pay_to:
            raise PaymentNotAllowedError(
                f"the service asks for payment to {pay_to}, and was paid at {known} before; "
                "nothing was signed. If you trust the new address, name it in payees"
            )

    def _read(self) -> Flow[None]:
        for record in (yield from run(self._store.list)):
            # What was never signed says nothing.
            if record.status != "released":
                self._first.setdefault(record.url, record.pay_to)
        self._has_read = True
