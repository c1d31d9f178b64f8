"""The blocking client."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

import httpx

from ._base import BODY_BYTES_MAX, BaseClient, quote_from
from ._caps import Spent, spent
from ._effects import Answer, Ask, Effect, Flow, Lock, Run, Send, Sleep, Unlock
from ._many import check_many, merge
from ._runtime import Runtime
from .errors import (
    APIConnectionError,
    APITimeoutError,
    ConfigurationError,
    PaymentRequiredError,
    ProtocolError,
)
from .models import SearchManyResponse, SearchOutcome, SearchResponse
from .payments import PaymentOptions, PaymentView, Quote
from .signers import Signer

T = TypeVar("T")


class Search402:
    """A client of one search402 service, with an API key or with a wallet. Thread-safe.

    Example:
        >>> client = Search402(api_key="s402_live_...")
        >>> response = client.search("kestrel nesting cliffs")
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
        http_client: httpx.Client | None = None,
        _runtime: Runtime | None = None,
    ) -> None:
        """Make a client.

        Args:
            api_key: Default: the environment's ``SEARCH402_API_KEY``, unless a wallet is given.
            wallet: Pays for each search in USDC, without an account.
            payment: Caps, allow-lists, the store and hooks; only with a wallet.
            base_url: Default: the environment's ``SEARCH402_BASE_URL``, else
                ``http://localhost:4020``.
            max_retries: Retries after the first try, 0 to 10.
            timeout: Seconds for each try; a body that drips is given up when they are over.
            headers: Added to every request; they cannot replace the credentials.
            http_client: Your own ``httpx.Client``; it is not closed by this one.

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
            headers=headers,
            runtime=_runtime or Runtime(),
        )
        self._http = http_client or httpx.Client()
        self._owns_http = http_client is None
        self._sections: dict[str, tuple[threading.Lock, int]] = {}
        self._guard = threading.Lock()

    def close(self) -> None:
        """Close the connections."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Search402:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        max_description_length: int | None = None,
        max_retries: int | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> SearchResponse:
        """Search the web. With a wallet, pay for it.

        Args:
            query: 1 to 50 words in keyword form; word order matters.
            max_results: 1 to 20; the service's default is 10.
            max_description_length: 1000 to 8000 characters; the service's default is 3000.
            max_retries: For this call only; 0 disables retries.
            timeout: Seconds for each try, for this call only.
            headers: Added to this request.

        Raises:
            APIError: when the service answers with an error, after the retries.
            APIConnectionError: when no complete answer arrives, after the retries.
            PaymentError: when a cap, a list or the wallet refuses to pay.

        """
        return self.search_with_response(
            query,
            max_results=max_results,
            max_description_length=max_description_length,
            max_retries=max_retries,
            timeout=timeout,
            headers=headers,
        ).data

    def search_with_response(
        self,
        query: str,
        *,
        max_results: int | None = None,
        max_description_length: int | None = None,
        max_retries: int | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> SearchOutcome:
        """Search like :meth:`search`; return status, headers, tries and the payment as well."""
        limits = self._base.limits(max_retries, timeout, headers)
        return self._drive(self._base.search(query, max_results, max_description_length, limits))

    def search_many(
        self,
        queries: Sequence[str],
        *,
        concurrency: int = 4,
        max_results: int | None = None,
        max_description_length: int | None = None,
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
            max_retries: For this call only.
            timeout: Seconds for each try.

        Raises:
            Exception: the first failure, only when every query failed; else see ``failures``.

        """
        unique = check_many(queries, concurrency)

        def one(query: str) -> SearchResponse | Exception:
            try:
                return self.search(
                    query,
                    max_results=max_results,
                    max_description_length=max_description_length,
                    max_retries=max_retries,
                    timeout=timeout,
                )
            except Exception as error:
                return error

        with ThreadPoolExecutor(concurrency) as pool:
            return merge(unique, dict(zip(unique, pool.map(one, unique), strict=True)))

    def quote(self, query: str = "price") -> Quote:
        """Return what the service asks for one search from a caller without a key.

        Nothing is signed.
        """
        try:
            self._drive(self._base.keyless(query))
        except PaymentRequiredError as error:
            return quote_from(error)
        raise ConfigurationError("this service answered a search without asking for a payment")

    def payments(self) -> list[PaymentView]:
        """Return every payment in the store, oldest first, without the signed headers.

        Raises:
            ConfigurationError: without a wallet.

        """
        return [record.view() for record in self._base.payer().store.list()]

    def spent(self) -> Spent:
        """Return what counts towards the caps, in atomic USDC."""
        return spent(self._base.payer().store.list(), self._base.runtime.now_ms())

    def resume_payments(self) -> tuple[list[SearchOutcome], list[Exception]]:
        """Send every payment whose outcome is not known once more.

        Returns the answers of those that went through, and the errors of the others. Nothing new
        is signed.
        """
        outcomes: list[SearchOutcome] = []
        failures: list[Exception] = []
        for flow in self._base.resumptions(self._base.payer().store.list()):
            try:
                outcomes.append(self._drive(flow))
            except Exception as error:
                failures.append(error)
        return outcomes, failures

    def _drive(self, flow: Flow[T]) -> T:
        try:
            effect = next(flow)
            while True:
                try:
                    result = self._perform(effect)
                except BaseException as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(result)
        except StopIteration as stop:
            value: T = stop.value
            return value

    def _perform(self, effect: Effect) -> Any:
        match effect:
            case Send():
                return self._send(effect)
            case Sleep(seconds):
                self._base.runtime.sleep(seconds)
            case Run(work):
                return work()
            case Ask(work):
                result = work()
                if inspect.isawaitable(result):
                    if inspect.iscoroutine(result):
                        result.close()
                    raise ConfigurationError("an async wallet or hook needs AsyncSearch402")
                return result
            case Lock(key):
                with self._guard:
                    lock, users = self._sections.get(key, (threading.Lock(), 0))
                    self._sections[key] = (lock, users + 1)
                lock.acquire()
            case Unlock(key):
                with self._guard:
                    lock, users = self._sections.pop(key)
                    if users > 1:
                        self._sections[key] = (lock, users - 1)
                lock.release()
        return None

    def _send(self, effect: Send) -> Answer:
        runtime = self._base.runtime
        deadline = runtime.monotonic() + effect.timeout
        try:
            with self._http.stream(
                "POST",
                effect.url,
                content=effect.body.encode(),
                headers=dict(effect.headers),
                timeout=effect.timeout,
                # Credentials never follow a redirect.
                follow_redirects=False,
            ) as response:
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > BODY_BYTES_MAX:
                        raise ProtocolError("the answer is larger than any search answer can be")
                    if runtime.monotonic() > deadline:
                        raise httpx.ReadTimeout("the body dripped")
                return Answer(response.status_code, response.headers, body.decode(errors="replace"))
        except httpx.TimeoutException as error:
            message = f"no complete answer within {effect.timeout} s"
            raise APITimeoutError(message) from error
        except httpx.HTTPError as error:
            raise APIConnectionError(f"no complete answer from {effect.url}: {error}") from error
