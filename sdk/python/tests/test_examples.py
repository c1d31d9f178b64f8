"""The examples run as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import GOOD_KEY, World

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(world: World, name: str, **environment: str) -> str:
    """Run an example and return what it printed."""
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        env={**os.environ, "SEARCH402_BASE_URL": world.url, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_search_with_key(blocking_world: World) -> None:
    out = run(blocking_world, "search_with_key.py", SEARCH402_API_KEY=GOOD_KEY)
    assert "kestrel nesting cliffs 1 https://example.com/shared" in out


def test_paid_search(blocking_world: World, tmp_path: Path) -> None:
    store = str(tmp_path / "payments.sqlite")
    key = "42" * 32
    out = run(blocking_world, "paid_search.py", SEARCH402_PRIVATE_KEY=key, SEARCH402_STORE=store)
    assert "one search costs 0.00005 USD\npayment open: 50 units\npayment paid" in out
    assert len(blocking_world.transfers) == 1


def test_async_many(blocking_world: World) -> None:
    out = run(blocking_world, "async_many.py", SEARCH402_API_KEY=GOOD_KEY)
    assert "0.0492 https://example.com/shared" in out
