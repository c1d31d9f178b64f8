"""What the blocking and the async client share."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ._call import Call, CallLimits
from ._channels import ChannelDesk
from ._effects import Answer, Flow, run
from ._inquiry import Inquiry
from ._packs import Pack, pack_body, read_pack
from ._payer import PaidRequest, Payer
from ._reply import parse_json
from ._runtime import Runtime
from ._settings import (
    Settings,
    check_base_url,
    check_retries,
    check_timeout,
    lower_cased,
    resolve_settings,
    search_body,
)
from ._status import PaymentState
from .errors import ConfigurationError, PaymentRequiredError
from .models import SearchOutcome, SearchResponse, parse_search_response
from .options import PaymentOptions
from .records import PaymentRecord, Quote, Spent
from .signers import Signer


class BaseClient:
    """Settings, the payer, and the flows that a client drives."""

    def __init__(
        self,
        *,
        api_key: str | None,
        wallet: Signer | None,
        payment: PaymentOptions | None,
        base_url: str | None,
        max_retries: int,
        timeout: float,
        headers: Mapping[str, str] | None,
        runtime: Runtime,
    ) -> None:
        self.settings = resolve_settings(
            api_key=api_key,
            wallet=wallet,
            payment=payment,
            base_url=base_url,
            max_retries=max_retries,
            timeout=timeout,
            headers=headers,
        )
        self.runtime = runtime
        self._payer = Payer(wallet, payment or PaymentOptions(), runtime) if wallet else None

    def with_options(
        self,
        base_url: str | None,
        max_retries: int | None,
        timeout: float | None,
        headers: Mapping[str, str] | None,
    ) -> BaseClient:
        """Return a copy with other settings; it shares the payer."""
        limits = self.limits(max_retries, timeout, headers)
        other = copy.copy(self)
        other.settings = dataclasses.replace(
            self.settings,
            base_url=self.settings.base_url if base_url is None else check_base_url(base_url),
            max_retries=limits.max_retries,
            timeout=limits.timeout,
            headers=limits.headers,
        )
        return other

    def close(self) -> None:
        """Close what this client opened for itself."""
        if self._payer is not None:
            self._payer.close_store()

    def records(self) -> Flow[Sequence[PaymentRecord]]:
        """Return the flow that reads the whole store."""
        return (yield from run(self.payer().store.list))

    def spent(self) -> Flow[Spent]:
        """Return the flow that reads what counts towards the caps."""
        store = self.payer().store
        return (yield from run(lambda: store.spent(self.runtime.now_ms())))

    def payment_state(self, payment_id: str) -> Flow[PaymentState]:
        """Return the flow that asks the gateway about one payment in the store."""
        payer = self.payer()
        record = yield from run(lambda: payer.store.get(payment_id))
        if record is None:
            raise ConfigurationError("no payment with this id is in the store")
        inquiry = Inquiry(payer, self.runtime, self.settings.timeout, self.settings.headers)
        return (yield from inquiry.state(record, self.runtime.now_ms() // 1000))

    def payer(self) -> Payer:
        """Return the payer, or raise ConfigurationError."""
        if self._payer is None:
            raise ConfigurationError("only a client with a wallet has payments")
        return self._payer

    def limits(
        self,
        max_retries: int | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> CallLimits:
        """Return a call's limits, with the client's where it has none."""
        settings = self.settings
        return CallLimits(
            check_retries(settings.max_retries if max_retries is None else max_retries),
            check_timeout(settings.timeout if timeout is None else timeout),
            {**settings.headers, **lower_cased(headers)},
        )

    def search(
        self,
        query: str,
        max_results: int | None,
        max_description_length: int | None,
        limits: CallLimits,
    ) -> Flow[SearchOutcome]:
        """Return the flow of one search."""
        body = search_body(query, max_results, max_description_length)
        request = PaidRequest(self.settings.url, body)
        return self._call(self.settings, self._payer, request, limits)

    def _call(
        self, settings: Settings, payer: Payer | None, request: PaidRequest, limits: CallLimits
    ) -> Flow[SearchOutcome]:
        call = Call(settings, payer, self.runtime, request, limits, _read_search)
        done = yield from call.run()
        answer = done.answer
        return SearchOutcome(done.data, answer.status, answer.headers, done.tries, done.payment)

    def buy_pack(self, searches: int | None, limits: CallLimits) -> Flow[Pack]:
        """Return the flow that buys many searches, or raise ConfigurationError."""
        settings, payer = self.settings, self.payer().for_packs()
        request = PaidRequest(settings.packs_url, pack_body(searches))
        done = yield from Call(settings, payer, self.runtime, request, limits, read_pack).run()
        return dataclasses.replace(done.data, payment=done.payment)

    def channels(self) -> ChannelDesk:
        """Return what opens, lists and closes channels, or raise ConfigurationError."""
        payer = self.payer()
        if payer.channels is None:
            raise ConfigurationError("this store keeps no channels; use a FileStore or MemoryStore")

        def search(deposit_units: int | None) -> Flow[SearchOutcome]:
            limits = dataclasses.replace(
                self.limits(), opens_channel=True, deposit_units=deposit_units
            )
            return (yield from self.search("price", None, None, limits))

        return ChannelDesk(payer.channels, self.settings, self.runtime, search)

    def keyless(self, query: str) -> Flow[SearchOutcome]:
        """Return the flow of a search without any credentials, to be refused with a quote."""
        settings = dataclasses.replace(self.settings, api_key=None)
        request = PaidRequest(settings.url, search_body(query, None, None))
        return self._call(settings, None, request, self.limits())

    def bodies_in_flight(self) -> Flow[Sequence[str]]:
        """Return what the vouchers pay for whose outcome is not known."""
        channels = self.payer().channels
        if channels is None:
            return []
        known = yield from channels.channels(self.settings.url)
        return [one.body for channel in known for one in channel.book.in_flight]

    def resumptions(
        self, records: Iterable[PaymentRecord], bodies: Iterable[str]
    ) -> Iterator[Flow[SearchOutcome]]:
        """Return a flow for each payment whose outcome is not known; none signs anything."""
        limits = dataclasses.replace(self.limits(), may_only_resume=True)
        for record in records:
            if record.status == "open" and record.url == self.settings.url and record.body:
                request = PaidRequest(record.url, record.body)
                yield self._call(self.settings, self._payer, request, limits)
        for body in bodies:
            request = PaidRequest(self.settings.url, body)
            yield self._call(self.settings, self._payer, request, limits)


def _read_search(answer: Answer) -> SearchResponse:
    return parse_search_response(parse_json(answer.text))


def quote_from(error: PaymentRequiredError) -> Quote:
    """Return the quote in a 402, or raise the 402 when it has none."""
    if error.quote is None:
        raise error
    return error.quote
