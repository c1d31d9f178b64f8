"""Several simple queries in place of one complex query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit, urlunsplit

from .errors import ConfigurationError
from .models import FoundBy, MergedResult, SearchManyResponse, SearchResponse, SearchResultItem

#: Damping of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
_RANK_DAMPING = 60
_QUERIES_MAX = 100
_CONCURRENCY_MAX = 20
_CHARACTERS_MIN = 500
#: A passage that is cut to fewer characters than this says too little, and is left out.
_PASSAGE_CHARACTERS_MIN = 200


def check_many(
    queries: Sequence[str], concurrency: int, max_characters: int | None = None
) -> list[str]:
    """Return the queries, each once.

    Raises:
        ConfigurationError: for a number that is out of bounds.

    """
    unique = list(dict.fromkeys(queries))
    if isinstance(queries, str) or not 1 <= len(unique) <= _QUERIES_MAX:
        raise ConfigurationError(f"queries must hold 1 to {_QUERIES_MAX} queries")
    if not 1 <= concurrency <= _CONCURRENCY_MAX:
        raise ConfigurationError(f"concurrency must be from 1 to {_CONCURRENCY_MAX}")
    if max_characters is not None and max_characters < _CHARACTERS_MIN:
        raise ConfigurationError(f"max_characters must be at least {_CHARACTERS_MIN}")
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


def _spend_on_best(pages: Sequence[_Page], max_characters: int | None) -> Sequence[_Page]:
    """Return the best pages, whole while they fit; the first that does not is cut."""
    if max_characters is None:
        return pages
    kept: list[_Page] = []
    left = max_characters
    for page in pages:
        item = page.item
        room = left - len(item.title) - len(item.url)
        if len(item.description) > room:
            if room >= _PASSAGE_CHARACTERS_MIN:
                shorter = replace(item, description=_cut_at_word(item.description, room))
                kept.append(replace(page, item=shorter))
            break
        kept.append(page)
        left = room - len(item.description)
    return kept


def _cut_at_word(text: str, length: int) -> str:
    head = text[: length - 1]
    space = head.rfind(" ")
    return (head[:space] if space > length * 0.8 else head).rstrip() + "…"


def merge(
    queries: Sequence[str],
    outcomes: Mapping[str, SearchResponse | Exception],
    max_characters: int | None = None,
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
            for page in _spend_on_best(ranked, max_characters)
        ),
        responses=responses,
        failures=failures,
    )
