"""What the blocking and the async client share."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from ._call import Call, CallLimits
from ._effects import Flow
from ._payer import PaidRequest, Payer
from ._runtime import Runtime
from ._settings import (
    check_retries,
    check_timeout,
    lower_cased,
    resolve_settings,
    search_body,
)
from .errors import ConfigurationError, PaymentRequiredError
from .models import SearchOutcome
from .payments import PaymentOptions, PaymentRecord, Quote
from .signers import Signer

#: More than twenty results of 8,000 characters can take, however they are escaped.
BODY_BYTES_MAX = 16 * 1024 * 1024


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
        return Call(self.settings, self._payer, self.runtime, request, limits).run()

    def keyless(self, query: str) -> Flow[SearchOutcome]:
        """Return the flow of a search without any credentials, to be refused with a quote."""
        settings = dataclasses.replace(self.settings, api_key=None)
        request = PaidRequest(settings.url, search_body(query, None, None))
        return Call(settings, None, self.runtime, request, self.limits()).run()

    def resumptions(self, records: Iterable[PaymentRecord]) -> Iterator[Flow[SearchOutcome]]:
        """Return a flow for each payment whose outcome is not known; none signs anything."""
        limits = dataclasses.replace(self.limits(), may_only_resume=True)
        for record in records:
            if record.status == "open" and record.url == self.settings.url and record.body:
                request = PaidRequest(record.url, record.body)
                yield Call(self.settings, self._payer, self.runtime, request, limits).run()


def quote_from(error: PaymentRequiredError) -> Quote:
    """Return the quote in a 402, or raise the 402 when it has none."""
    if error.quote is None:
        raise error
    return error.quote
