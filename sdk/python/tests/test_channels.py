"""Searches that are paid for by a channel, against a gateway that keeps the scheme's rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import CONTROL, SERVER

import search402 as sdk


class ChannelWorld:
    """One gateway that sells by channels."""

    def __init__(self) -> None:
        made = CONTROL.post(f"{SERVER}/channels").json()
        self.url: str = made["url"]
        self._control = f"{SERVER}/worlds/{made['id']}"
        self.wallet = sdk.PrivateKeySigner("42" * 32)

    def ends(self, *ends: str) -> None:
        """Say how the next searches end: ``ok``, ``fail`` or ``lose``."""
        CONTROL.post(self._control, json={"ends": ends})

    @property
    def books(self) -> dict[str, Any]:
        """What the gateway has counted."""
        books: dict[str, Any] = CONTROL.get(self._control).json()
        return books

    def options(self, **payment: Any) -> dict[str, Any]:
        payment.setdefault("store", sdk.MemoryStore())
        options = sdk.PaymentOptions(**payment)
        return {"base_url": self.url, "wallet": self.wallet, "payment": options}


@pytest.fixture
def channel_world() -> ChannelWorld:
    return ChannelWorld()


Make = Callable[..., Any]


def test_the_second_search_opens_a_channel_and_each_further_one_is_a_single_request(
    make: Make, channel_world: ChannelWorld
) -> None:
    client = make(**channel_world.options())
    tries = [client.search_with_response(f"kestrel {name}").tries for name in "abcd"]
    # The second one: the challenge, a voucher that asks for the channel, and the deposit.
    assert tries == [2, 3, 1, 1]
    books = channel_world.books
    assert books["exact"] == 1
    assert books["deposits"] == [50_000]
    assert (books["charged"], books["signed"]) == (150, 150)
    assert client.spent().total_units == 50_050
    (view,) = client.channels()
    assert (view.status, view.balance_units, view.charged_units) == ("open", 50_000, 150)
    assert [one.amount_units for one in client.payments()] == [50, 50_000]
    assert [one.status for one in client.payments()] == ["paid", "paid"]


@pytest.mark.parametrize(
    "caps", [{"max_deposit": "0.04"}, {"max_deposit": "0"}, {"max_per_day": "0.05"}]
)
def test_a_deposit_above_a_cap_is_not_signed(
    make: Make, channel_world: ChannelWorld, caps: dict[str, str]
) -> None:
    client = make(**channel_world.options(**caps))
    for name in "ab":
        client.search(f"kestrel {name}")
    assert channel_world.books["exact"] == 2
    assert channel_world.books["deposits"] == []


def test_a_channel_is_opened_topped_up_and_closed(make: Make, channel_world: ChannelWorld) -> None:
    client = make(**channel_world.options())
    opened = client.open_channel(deposit=50_000)
    assert (opened.left_units, opened.status) == (49_950, "open")
    client.search("kestrel")
    (closed,) = client.close_channels()
    assert closed.refunded_units == 49_900
    assert closed.channel.status == "closed"
    assert channel_world.books["balance"] == 100
    client.search("falcon")
    assert channel_world.books["balance"] == 50_100
    assert channel_world.books["charged"] == 150


def test_a_failed_search_costs_nothing_and_its_deposit_goes_out_again(
    make: Make, channel_world: ChannelWorld
) -> None:
    client = make(**channel_world.options(), max_retries=0)
    channel_world.ends("fail")
    with pytest.raises(sdk.APIError) as caught:
        client.open_channel()
    assert caught.value.code == "upstream_error"
    client.open_channel()
    assert client.spent().total_units == 50_000
    channel_world.ends("fail")
    with pytest.raises(sdk.APIError):
        client.search("a")
    client.search("b")
    assert (channel_world.books["charged"], channel_world.books["signed"]) == (100, 100)


def test_a_lost_answer_is_fetched_with_the_same_voucher(
    make: Make, channel_world: ChannelWorld, tmp_path: Path
) -> None:
    def store() -> sdk.FileStore:
        return sdk.FileStore(tmp_path / "payments.sqlite")

    client = make(**channel_world.options(store=store()), max_retries=0)
    client.open_channel()
    channel_world.ends("lose")
    with pytest.raises(sdk.APIConnectionError):
        client.search("a")
    later = make(**channel_world.options(store=store()))
    later.search("a")
    later.search("b")
    books = channel_world.books
    assert (books["charged"], books["signed"]) == (150, 150)
    assert sorted(set(books["values"])) == [50, 100, 150]


def test_what_was_out_is_resumed_and_nothing_new_is_signed(
    make: Make, channel_world: ChannelWorld
) -> None:
    client = make(**channel_world.options(), max_retries=0)
    client.open_channel()
    channel_world.ends("lose")
    with pytest.raises(sdk.APIConnectionError):
        client.search("a")
    outcomes, failures = client.resume_payments()
    assert ([one.payment.amount_units for one in outcomes], failures) == ([50], [])
    assert channel_world.books["charged"] == 100
    assert sorted(set(channel_world.books["values"])) == [50, 100]


def test_a_client_that_lost_its_store_goes_on_from_its_own_signature(
    make: Make, channel_world: ChannelWorld
) -> None:
    first = make(**channel_world.options())
    first.open_channel()
    first.search("a")
    second = make(**channel_world.options())
    second.search("b")
    # The challenge, a voucher that is refused, and one that fits.
    assert second.search_with_response("c").tries == 3
    assert second.search_with_response("d").tries == 1
    books = channel_world.books
    assert books["deposits"] == [50_000]
    assert (books["charged"], books["signed"]) == (200, 200)


def test_many_searches_at_once_are_all_answered_on_one_channel(
    channel_world: ChannelWorld,
) -> None:
    async def run() -> list[int]:
        async with httpx.AsyncClient() as http:
            client = sdk.AsyncSearch402(**channel_world.options(), http_client=http)
            await client.open_channel()
            outcomes = await asyncio.gather(
                *(client.search_with_response(f"kestrel {index}") for index in range(32))
            )
            return [one.tries for one in outcomes]

    tries = asyncio.run(run())
    books = channel_world.books
    assert (books["charged"], books["signed"]) == (33 * 50, 33 * 50)
    assert len(tries) == 32
    assert books["exact"] == 0
