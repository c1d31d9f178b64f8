"""The client that programs use."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TypeVar

import httpx

from ._async_io import AsyncPerformer
from ._base import BaseClient, quote_from
from ._effects import Flow
from ._many import check_many, merge
from ._money import Money, parse_money
from ._packs import Pack
from ._runtime import current_runtime
from ._settings import one_of
from ._status import PaymentState
from .errors import ConfigurationError, PaymentRequiredError
from .models import SearchManyResponse, SearchOutcome, SearchResponse
from .options import PaymentOptions
from .records import ChannelView, ClosedChannel, PaymentRecord, PaymentView, Quote, Spent
from .signers import Signer

T = TypeVar("T")


class AsyncSearch402:
    """A client of one search402 service, with an API key or with a wallet.

    The blocking and the async client have the same methods. Threads may share the blocking one;
    the async one belongs to one event loop.

    Example:
        >>> client = AsyncSearch402(api_key="s402_live_...")
        >>> response = await client.search("kestrel nesting cliffs")
        >>> [item.url for item in response.result.results]

    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        wallet: Signer | None = None,
        payment: PaymentOptions | None = None,
        base_url: str | None = None,
        max_retries: int = 2,
        timeout: float = 60.0,
        headers: Mapping[str, str] | None = None,
        default_headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Make a client.

        Args:
            api_key: Default: the environment's ``SEARCH402_API_KEY``, unless a wallet is given.
            wallet: Pays for each search in USDC, without an account.
            payment: Caps, allow-lists, the store and hooks; only with a wallet.
            base_url: Default: the environment's ``SEARCH402_BASE_URL``, else
                ``http://localhost:4020``.
            max_retries: Retries after the first try, 0 to 10.
            timeout: Seconds for each try, its body included.
            headers: Added to every request; they cannot replace the credentials.
            default_headers: The same as ``headers``, as generated SDKs spell it.
            http_client: Your own client of httpx; it is not closed by this one.

        Raises:
            ConfigurationError: when something cannot be right.

        """
        self._base = BaseClient(
            api_key=api_key,
            wallet=wallet,
            payment=payment,
            base_url=base_url,
            max_retries=max_retries,
            timeout=timeout,
            headers=one_of("headers", headers, "default_headers", default_headers),
            runtime=current_runtime(),
        )
        self._http = http_client or httpx.AsyncClient()
        self._owns_http = http_client is None
        self._performer = AsyncPerformer(self._http, self._base.runtime)

    async def close(self) -> None:
        """Close the connections, and the store unless it was given."""
        if self._owns_http:
            await self._http.aclose()
            self._base.close()

    async def __aenter__(self) -> AsyncSearch402:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def with_options(
        self,
        *,
        base_url: str | None = None,
        max_retries: int | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        default_headers: Mapping[str, str] | None = None,
    ) -> AsyncSearch402:
        """Return a client with other settings; what is not given stays as it is.

        It shares credentials, connections, the store and the caps with this one, and works until
        this one is closed.

        Args:
            base_url: Another address.
            max_retries: Retries after the first try, 0 to 10.
            timeout: Seconds for each try.
            headers: Added to those of this client.
            default_headers: The same as ``headers``.

        """
        other = copy.copy(self)
        headers = one_of("headers", headers, "default_headers", default_headers)
        other._base = self._base.with_options(base_url, max_retries, timeout, headers)
        other._owns_http = False
        return other

    async def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        max_description_length: int | None = None,
        max_retries: int | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> SearchResponse:
        """Search the web. With a wallet, pay for it.

        Args:
            query: 1 to 50 words in keyword form; word order matters.
            max_results: 1 to 20; the service's default is 10.
            max_description_length: 1000 to 8000 characters; the service's default is 3000.
            max_retries: For this call only; 0 disables retries.
            timeout: Seconds for each try, for this call only.
            headers: Added to this request.
            extra_headers: The same as ``headers``, as generated SDKs spell it.

        Raises:
            APIError: when the service answers with an error, after the retries.
            APIConnectionError: when no complete answer arrives, after the retries.
            PaymentError: when a cap, a list or the wallet refuses to pay.

        """
        outcome = await self.search_with_response(
            query,
            max_results=max_results,
            max_description_length=max_description_length,
            max_retries=max_retries,
            timeout=timeout,
            headers=headers,
            extra_headers=extra_headers,
        )
        return outcome.data

    async def search_with_response(
        self,
        query: str,
        *,
        max_results: int | None = None,
        max_description_length: int | None = None,
        max_retries: int | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> SearchOutcome:
        """Search like :meth:`search`; return status, headers, tries and the payment as well."""
        headers = one_of("headers", headers, "extra_headers", extra_headers)
        limits = self._base.limits(max_retries, timeout, headers)
        return await self._drive(
            self._base.search(query, max_results, max_description_length, limits)
        )

    @property
    def with_raw_response(self) -> AsyncSearch402WithRawResponse:
        """The same searches, with status, headers, tries and the payment."""
        return AsyncSearch402WithRawResponse(self)

    async def search_many(
        self,
        queries: Sequence[str],
        *,
        concurrency: int = 4,
        max_results: int | None = None,
        max_description_length: int | None = None,
        max_characters: int | None = None,
        max_retries: int | None = None,
        timeout: float | None = None,
    ) -> SearchManyResponse:
        """Run several queries, merged by reciprocal rank, each URL once.

        With a wallet each query is a payment of its own. A query that is given twice is sent once.

        Args:
            queries: 1 to 100 queries.
            concurrency: Requests in flight at once, 1 to 20.
            max_results: For each query, 1 to 20.
            max_description_length: 1000 to 8000 characters.
            max_characters: All merged results together, at least 500: spent on the best pages,
                whole where they fit. ``responses`` stay whole.
            max_retries: For this call only.
            timeout: Seconds for each try.

        Raises:
            Exception: the first failure, only when every query failed; else see ``failures``.

        """
        unique = check_many(queries, concurrency, max_characters)

        async def one(query: str) -> SearchResponse | Exception:
            try:
                return await self.search(
                    query,
                    max_results=max_results,
                    max_description_length=max_description_length,
                    max_retries=max_retries,
                    timeout=timeout,
                )
            except Exception as error:
                return error

        outcomes = await self._performer.map(one, unique, concurrency)
        return merge(unique, dict(zip(unique, outcomes, strict=True)), max_characters)

    async def buy_pack(
        self,
        searches: int | None = None,
        *,
        max_retries: int | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> Pack:
        """Buy many searches with one payment, and get an API key for them.

        Called again while its outcome is not known, it sends the same payment.

        Args:
            searches: Default: the first size that the service sells.
            max_retries: For this call only; 0 disables retries.
            timeout: Seconds for each try, for this call only.
            headers: Added to this request.
            extra_headers: The same as ``headers``, as generated SDKs spell it.

        Raises:
            APIError: when the service answers with an error, after the retries.
            ConfigurationError: without a wallet.
            PaymentError: when the pack costs more than ``max_deposit``, or a budget or list
                refuses.

        """
        headers = one_of("headers", headers, "extra_headers", extra_headers)
        limits = self._base.limits(max_retries, timeout, headers)
        return await self._drive(self._base.buy_pack(searches, limits))

    async def quote(self, query: str = "price") -> Quote:
        """Return what the service asks for one search from a caller without a key.

        Nothing is signed.
        """
        try:
            await self._drive(self._base.keyless(query))
        except PaymentRequiredError as error:
            return quote_from(error)
        raise ConfigurationError("this service answered a search without asking for a payment")

    async def payments(self) -> list[PaymentView]:
        """Return every payment in the store, oldest first, without the signed headers.

        Raises:
            ConfigurationError: without a wallet.

        """
        return [record.view() for record in await self._records()]

    async def spent(self) -> Spent:
        """Return what counts towards the caps, in atomic USDC."""
        return await self._drive(self._base.spent())

    async def payment_state(self, payment_id: str) -> PaymentState:
        """Ask the service what became of a payment in the store; the wallet signs the question.

        Args:
            payment_id: The ``id`` of one of :meth:`payments`.

        Raises:
            APIError: when the service does not tell.
            ConfigurationError: without a wallet, or when the store does not hold the payment.

        """
        return await self._drive(self._base.payment_state(payment_id))

    async def resume_payments(self) -> tuple[list[SearchOutcome], list[Exception]]:
        """Send every payment whose outcome is not known once more.

        Returns the answers of those that went through, and the errors of the others. Nothing new
        is signed.
        """
        outcomes: list[SearchOutcome] = []
        failures: list[Exception] = []
        bodies = await self._drive(self._base.bodies_in_flight())
        for flow in self._base.resumptions(await self._records(), bodies):
            try:
                outcomes.append(await self._drive(flow))
            except Exception as error:
                failures.append(error)
        return outcomes, failures

    async def channels(self) -> list[ChannelView]:
        """Return every channel of this wallet in the store, oldest first.

        Raises:
            ConfigurationError: without a wallet.

        """
        return list(await self._drive(self._base.channels().views()))

    async def open_channel(self, *, deposit: Money | None = None) -> ChannelView:
        """Open a channel, or top one up, and pay for one search with it.

        A gateway takes no deposit that buys nothing. Without this a client opens a channel by
        itself for its second search.

        Args:
            deposit: Default: what the gateway asks for.

        Raises:
            PaymentError: when the gateway offers no channel, or lists and caps forbid it.

        """
        units = None if deposit is None else parse_money(deposit)
        return await self._drive(self._base.channels().open(units))

    async def close_channels(self, channel_id: str | None = None) -> list[ClosedChannel]:
        """Ask for what is left in each channel, or in one. It costs no gas.

        Args:
            channel_id: The ``id`` of one of :meth:`channels`.

        Raises:
            APIError: when the gateway gives nothing back now: after ``withdraw_delay_seconds`` the
                payer can take it alone, with a transaction of its own.

        """
        return list(await self._drive(self._base.channels().close(channel_id)))

    async def _records(self) -> Sequence[PaymentRecord]:
        return await self._drive(self._base.records())

    async def _drive(self, flow: Flow[T]) -> T:
        try:
            effect = next(flow)
            while True:
                try:
                    result = await self._performer.perform(effect)
                except BaseException as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(result)
        except StopIteration as stop:
            value: T = stop.value
            return value


class AsyncSearch402WithRawResponse:
    """Searches that return the whole answer, as generated SDKs offer them."""

    def __init__(self, client: AsyncSearch402) -> None:
        self.search = client.search_with_response
