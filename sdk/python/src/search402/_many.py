"""Several simple queries in place of one complex query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from .errors import ConfigurationError
from .models import FoundBy, MergedResult, SearchManyResponse, SearchResponse, SearchResultItem

#: Damping of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
_RANK_DAMPING = 60
_QUERIES_MAX = 100
_CONCURRENCY_MAX = 20


def check_many(queries: Sequence[str], concurrency: int) -> list[str]:
    """Return the queries, each once.

    Raises:
        ConfigurationError: for a number that is out of bounds.

    """
    unique = list(dict.fromkeys(queries))
    if isinstance(queries, str) or not 1 <= len(unique) <= _QUERIES_MAX:
        raise ConfigurationError(f"queries must hold 1 to {_QUERIES_MAX} queries")
    if not 1 <= concurrency <= _CONCURRENCY_MAX:
        raise ConfigurationError(f"concurrency must be from 1 to {_CONCURRENCY_MAX}")
    return unique


def _same_url(text: str) -> str:
    """Return one spelling for a page: no fragment, no default port, the host in lower case."""
    try:
        parts = urlsplit(text)
        default = {"http": 80, "https": 443}.get(parts.scheme)
        port = "" if parts.port in (None, default) else f":{parts.port}"
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        return urlunsplit((parts.scheme, host + port, parts.path or "/", parts.query, ""))
    except ValueError:
        return text


@dataclass
class _Page:
    item: SearchResultItem
    score: float
    found_by: list[FoundBy]


def merge(
    queries: Sequence[str], outcomes: Mapping[str, SearchResponse | Exception]
) -> SearchManyResponse:
    """Merge ranked lists by reciprocal rank; ties keep the order of the queries.

    Raises:
        Exception: the first failure, only when every query failed.

    """
    responses: dict[str, SearchResponse] = {}
    failures: dict[str, Exception] = {}
    for query in queries:
        outcome = outcomes[query]
        if isinstance(outcome, Exception):
            failures[query] = outcome
        else:
            responses[query] = outcome
    if not responses:
        raise failures[queries[0]]
    pages: dict[str, _Page] = {}
    for query, response in responses.items():
        seen: set[str] = set()
        for rank, item in enumerate(response.result.results, 1):
            key = _same_url(item.url)
            if key in seen:
                continue
            seen.add(key)
            page = pages.setdefault(key, _Page(item, 0.0, []))
            page.score += 1 / (_RANK_DAMPING + rank)
            page.found_by.append(FoundBy(query, rank))
    ranked = sorted(pages.values(), key=lambda page: -page.score)
    return SearchManyResponse(
        results=tuple(
            MergedResult(
                title=page.item.title,
                url=page.item.url,
                description=page.item.description,
                score=page.score,
                found_by=tuple(page.found_by),
            )
            for page in ranked
        ),
        responses=responses,
        failures=failures,
    )
