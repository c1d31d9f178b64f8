"""The most that may be signed away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ._money import format_usd, parse_money
from .errors import CapExceededError, ConfigurationError
from .options import PaymentOptions
from .records import Spent


@dataclass(frozen=True)
class Caps:
    """Caps in atomic USDC."""

    max_per_request: int
    max_per_day: int
    max_total: int | None
    max_deposit: int

    @staticmethod
    def of(options: PaymentOptions) -> Caps:
        """Read the caps.

        Raises:
            ConfigurationError: for an amount that cannot be read.

        """
        try:
            return Caps(
                parse_money(options.max_per_request),
                parse_money(options.max_per_day),
                None if options.max_total is None else parse_money(options.max_total),
                parse_money(options.max_deposit),
            )
        except ValueError as error:
            raise ConfigurationError(f"a cap cannot be read: {error}") from error

    def check(self, before: Spent, amount: int) -> None:
        """Pass when ``amount`` fits on top of what counts already.

        Raises:
            CapExceededError: when it does not.

        """
        _check("max_per_request", self.max_per_request, 0, amount)
        self._check_budget(before, amount)

    def check_deposit(self, before: Spent, unspent: int, deposit: int) -> None:
        """Pass when a deposit fits on top of what lies unspent in its channel.

        Raises:
            CapExceededError: when it does not.

        """
        _check("max_deposit", self.max_deposit, unspent, deposit)
        self._check_budget(before, deposit)

    def _check_budget(self, before: Spent, amount: int) -> None:
        _check("max_per_day", self.max_per_day, before.day_units, amount)
        if self.max_total is not None:
            _check("max_total", self.max_total, before.total_units, amount)


def _check(
    cap: Literal["max_per_request", "max_per_day", "max_total", "max_deposit"],
    limit: int,
    before: int,
    amount: int,
) -> None:
    if before + amount <= limit:
        return
    raise CapExceededError(
        f"a payment of {format_usd(amount)} USD on top of {format_usd(before)} USD exceeds "
        f"{cap} ({format_usd(limit)} USD); nothing was signed",
        cap=cap,
        limit_units=limit,
        spent_units=before,
        amount_units=amount,
    )
