"""Searches that are paid ahead."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, cast

from ._dict import ToDict
from ._effects import Answer
from ._reply import parse_json
from .errors import ProtocolError
from .records import PaymentView


@dataclass(frozen=True)
class Pack(ToDict):
    """Searches that were paid ahead, and the key that spends them."""

    id: str
    #: An API key for this service. Whoever has it can spend the searches.
    key: str = dataclasses.field(repr=False)
    searches: int
    #: The price in dollars.
    amount_usd: str
    #: ISO 8601: when the key ends.
    expires_at: str
    request_id: str
    #: None where the service asked for no payment.
    payment: PaymentView | None = None


def pack_body(searches: int | None) -> str:
    """Return the request body; the same pack always has the same bytes."""
    return json.dumps({} if searches is None else {"searches": searches}, separators=(",", ":"))


def read_pack(answer: Answer) -> Pack:
    """Read a pack and its key.

    Raises:
        ProtocolError: when a 200 does not hold them.

    """
    body = _object(parse_json(answer.text))
    pack = _object(body.get("pack"))
    searches = pack.get("searches")
    texts = [pack.get("id"), body.get("key"), pack.get("amountUsd"), pack.get("expiresAt")]
    texts.append(body.get("requestId"))
    if type(searches) is not int or not all(isinstance(text, str) for text in texts):
        raise ProtocolError("the reply has status 200 but is not a pack")
    id_, key, amount_usd, expires_at, request_id = cast("list[str]", texts)
    return Pack(id_, key, searches, amount_usd, expires_at, request_id)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
