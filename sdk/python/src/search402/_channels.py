"""What a client tells of its channels, and how it opens and closes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ._channel_answer import read_channel_receipt
from ._channel_entry import Channel
from ._channel_payer import ChannelPayer
from ._effects import Answer, Flow, Send, send
from ._reply import error_of
from ._runtime import Runtime
from ._settings import Settings
from ._wire import read_challenge
from .errors import ConfigurationError
from .models import SearchOutcome
from .records import ChannelView, ClosedChannel


class ChannelDesk:
    """The channels of a wallet at one service."""

    def __init__(
        self,
        payer: ChannelPayer,
        settings: Settings,
        runtime: Runtime,
        search: Callable[[int | None], Flow[SearchOutcome]],
    ) -> None:
        self._payer = payer
        self._settings = settings
        self._runtime = runtime
        self._search = search

    def views(self) -> Flow[Sequence[ChannelView]]:
        """Return every channel in the store, oldest first."""
        return [_view(one) for one in (yield from self._payer.channels(self._settings.url))]

    def open(self, deposit_units: int | None) -> Flow[ChannelView]:
        """Open a channel, or top one up, with a search that pays for itself."""
        outcome = yield from self._search(deposit_units)
        channel_id = outcome.payment.channel_id if outcome.payment else None
        for view in (yield from self.views()):
            if view.id == channel_id:
                return view
        raise ConfigurationError("the store has lost the channel that was opened")

    def close(self, channel_id: str | None) -> Flow[Sequence[ClosedChannel]]:
        """Ask for what is left in each channel, or in one."""
        channels = yield from self._payer.channels(self._settings.url)
        wanted = [one for one in channels if channel_id is None or one.id == channel_id.lower()]
        if channel_id is not None and not wanted:
            raise ConfigurationError(f"there is no channel {channel_id} in the store")
        closed: list[ClosedChannel] = []
        for channel in wanted:
            if channel.status != "closed":
                closed.append((yield from self._close(channel)))
        return closed

    def _close(self, channel: Channel) -> Flow[ClosedChannel]:
        answer = yield from self._ask_back(channel)
        challenge = read_challenge(answer.headers) if answer.status == 402 else None
        if challenge and (yield from self._payer.correct(channel, challenge)):
            # The gateway counts differently, and can prove it.
            latest = yield from self._latest(channel)
            if latest.book.charged != channel.book.charged:
                answer = yield from self._ask_back(latest)
        receipt = read_channel_receipt(answer.headers)
        if answer.status != 200 or receipt is None or not receipt.success:
            raise error_of(answer, None, self._runtime.now_ms())
        yield from self._payer.refunded(channel, receipt)
        after = yield from self._latest(channel)
        return ClosedChannel(_view(after), receipt.moved_units or 0, receipt.transaction)

    def _ask_back(self, channel: Channel) -> Flow[Answer]:
        header = yield from self._payer.refund(channel)
        headers = {
            **self._settings.headers,
            "accept": "application/json",
            "payment-signature": header,
        }
        url = f"{self._settings.base_url}/channels"
        return (yield from send(Send(url, None, headers, self._settings.timeout)))

    def _latest(self, channel: Channel) -> Flow[Channel]:
        channels = yield from self._payer.channels(self._settings.url)
        return next(one for one in channels if one.id == channel.id)


def _view(channel: Channel) -> ChannelView:
    book, quote = channel.book, channel.terms.common.quote
    return ChannelView(
        id=channel.id,
        status=channel.status,
        network=quote.network,
        asset=quote.asset,
        pay_to=quote.pay_to,
        payer=channel.config["payer"],
        balance_units=book.balance,
        charged_units=book.charged,
        left_units=max(0, book.balance - book.charged),
        price_units=quote.amount_units,
        in_flight=len(book.in_flight),
        withdraw_delay_seconds=channel.terms.withdraw_delay,
    )
