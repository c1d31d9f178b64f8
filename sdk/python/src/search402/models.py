"""The answers of the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ._dict import ToDict
from .errors import ProtocolError
from .records import PaymentView


@dataclass(frozen=True)
class SearchResultItem(ToDict):
    """One found page."""

    title: str
    url: str
    #: Text from the page, at most ``max_description_length`` characters.
    description: str


@dataclass(frozen=True)
class SearchMetadata(ToDict):
    """About the search."""

    #: Duration of the search in seconds.
    execution_time: float


@dataclass(frozen=True)
class SearchResult(ToDict):
    """The outcome of one search."""

    #: In ranked order, best first.
    results: tuple[SearchResultItem, ...]
    search_metadata: SearchMetadata
    total_results: int


@dataclass(frozen=True)
class SearchResponse(ToDict):
    """The answer to one search."""

    request_id: str
    result: SearchResult


@dataclass(frozen=True)
class SearchOutcome(ToDict):
    """A search response with what stood around it."""

    data: SearchResponse
    status: int
    headers: Mapping[str, str]
    #: Requests sent, the unpaid one that fetched the quote included.
    tries: int
    #: What was paid, when a wallet paid.
    payment: PaymentView | None = None

    @property
    def receipt(self) -> str | None:
        """The service's signed statement of what was asked, answered and paid.

        See :func:`search402.verify_receipt`.
        """
        from .receipts import receipt_in

        return receipt_in(self.headers)

    @property
    def status_code(self) -> int:
        """The same as ``status``, as generated SDKs spell it."""
        return self.status

    def parse(self) -> SearchResponse:
        """Return ``data``, as generated SDKs spell it."""
        return self.data


@dataclass(frozen=True)
class FoundBy(ToDict):
    """A query that found a page, and at which rank (1 is the best)."""

    query: str
    rank: int


@dataclass(frozen=True)
class MergedResult(SearchResultItem):
    """One page with the queries that found it."""

    #: Sum of 1 / (60 + rank) over the queries that found it; higher is better.
    score: float
    found_by: tuple[FoundBy, ...]


@dataclass(frozen=True)
class SearchManyResponse(ToDict):
    """The merged answer to several queries."""

    #: Best first, each URL once.
    results: tuple[MergedResult, ...]
    #: The whole answer to each query that succeeded.
    responses: Mapping[str, SearchResponse]
    #: The queries that failed, with their errors; ``results`` says nothing about them.
    failures: Mapping[str, Exception]


def parse_search_response(value: Any) -> SearchResponse:
    """Read a SearchResponse.

    Raises:
        ProtocolError: when a 200 does not hold one.

    """
    try:
        result = value["result"]
        items = tuple(
            SearchResultItem(_text(item["title"]), _text(item["url"]), _text(item["description"]))
            for item in cast("list[dict[str, object]]", result["results"])
        )
        execution_time = result["searchMetadata"]["executionTime"]
        if not isinstance(execution_time, (int, float)) or not isinstance(
            result["totalResults"], int
        ):
            raise TypeError
        return SearchResponse(
            request_id=_text(value["requestId"]),
            result=SearchResult(items, SearchMetadata(execution_time), result["totalResults"]),
        )
    except (KeyError, TypeError, IndexError) as error:
        message = "the reply has status 200 but is not a search response"
        raise ProtocolError(message) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
