"""Amounts of USDC: dollars as text, atomic units as int. Never float."""

from __future__ import annotations

import re

#: Dollars as text (``"0.01"``, at most six decimals) or atomic USDC as an int (``10_000``).
Money = str | int


def parse_money(money: Money) -> int:
    """Return atomic USDC (six decimals, 1 USD = 1_000_000).

    Raises:
        ValueError: for anything but a non-negative amount with at most six decimals.

    """
    if isinstance(money, int) and not isinstance(money, bool):
        if money < 0:
            raise ValueError("an amount of money cannot be negative")
        return money
    match = re.fullmatch(r"\$?([0-9]{1,15})(?:\.([0-9]{1,6}))?", str(money), re.ASCII)
    if not match or not isinstance(money, str):
        raise ValueError(f'{money!r} is not a dollar amount such as "0.01"')
    return int(match[1]) * 1_000_000 + int((match[2] or "").ljust(6, "0"))


def format_usd(units: int) -> str:
    """Return atomic USDC as dollars without trailing zeros: ``50`` is ``0.00005``."""
    digits = str(units).rjust(7, "0")
    fraction = digits[-6:].rstrip("0")
    return f"{digits[:-6]}.{fraction}" if fraction else digits[:-6]
