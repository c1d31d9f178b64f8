"""Options, with the environment and the defaults filled in."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ._version import __version__
from .errors import ConfigurationError
from .options import PaymentOptions
from .signers import Signer

T = TypeVar("T")

DEFAULT_BASE_URL = "http://localhost:4020"
_RETRIES_MAX = 10
USER_AGENT = (
    f"search402-python/{__version__} "
    f"({platform.python_implementation()}/{platform.python_version()})"
)


@dataclass(frozen=True)
class Settings:
    """What a client was told."""

    api_key: str | None
    #: Of the service, without a slash at its end.
    base_url: str
    max_retries: int
    timeout: float
    headers: Mapping[str, str]

    @property
    def url(self) -> str:
        """Where searches are sent."""
        return f"{self.base_url}/search"

    @property
    def packs_url(self) -> str:
        """Where packs are sold."""
        return f"{self.base_url}/packs"


def _environment(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def check_retries(max_retries: int) -> int:
    """Return the number, from 0 to 10, or raise ConfigurationError."""
    if isinstance(max_retries, bool) or not 0 <= max_retries <= _RETRIES_MAX:
        raise ConfigurationError(f"max_retries must be a whole number from 0 to {_RETRIES_MAX}")
    return max_retries


def check_timeout(timeout: float) -> float:
    """Return the seconds, above 0, or raise ConfigurationError."""
    if not 0 < timeout <= 2**31:
        raise ConfigurationError("timeout must be above 0 seconds")
    return timeout


def check_base_url(base_url: str) -> str:
    """Return the address without a slash at its end, or raise ConfigurationError."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f'base_url "{base_url}" must start with https:// or http://')
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigurationError("base_url must hold no user, query or fragment")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def one_of(name: str, given: T | None, other_name: str, other: T | None) -> T | None:
    """Return the value that two spellings of one argument have, or raise ConfigurationError."""
    if given is not None and other is not None:
        raise ConfigurationError(f"{name} and {other_name} are one argument: give it once")
    return other if given is None else given


def lower_cased(headers: Mapping[str, str] | None) -> dict[str, str]:
    """Return header names in lower case, so that a spelling cannot double a credential."""
    return {name.lower(): value for name, value in (headers or {}).items()}


def resolve_settings(
    *,
    api_key: str | None,
    wallet: Signer | None,
    payment: PaymentOptions | None,
    base_url: str | None,
    max_retries: int,
    timeout: float,
    headers: Mapping[str, str] | None,
) -> Settings:
    """Fill in the environment and the defaults.

    Raises:
        ConfigurationError: when something cannot be right.

    """
    if api_key is not None and wallet is not None:
        raise ConfigurationError("give an api_key or a wallet, not both")
    if wallet is not None:
        check_wallet(wallet)
    if payment is not None and wallet is None:
        raise ConfigurationError("payment options need a wallet")
    if wallet is None and api_key is None:
        api_key = _environment("SEARCH402_API_KEY")
    if api_key is not None and not re.fullmatch(r"[\x21-\x7e]+", api_key):
        raise ConfigurationError("the API key is empty or has invalid characters")
    return Settings(
        api_key=api_key,
        base_url=check_base_url(base_url or _environment("SEARCH402_BASE_URL") or DEFAULT_BASE_URL),
        max_retries=check_retries(max_retries),
        timeout=check_timeout(timeout),
        headers={"user-agent": USER_AGENT, **lower_cased(headers)},
    )


def check_wallet(wallet: object) -> None:
    """Pass what can pay; say clearly what cannot.

    Raises:
        ConfigurationError: which never repeats the value: it may be a private key.

    """
    if isinstance(wallet, (str, bytes)):
        raise ConfigurationError(
            "wallet must be a wallet, not text; for a private key: wallet=PrivateKeySigner(key)"
        )
    if not callable(getattr(wallet, "sign_typed_data", None)):
        raise ConfigurationError(
            f"wallet must have address and sign_typed_data; {type(wallet).__name__} has none"
        )
    address: object = getattr(wallet, "address", None)
    if not isinstance(address, str) or not re.fullmatch("0x[0-9a-fA-F]{40}", address):
        raise ConfigurationError("wallet.address must be 20 bytes of hex with 0x")


def search_body(query: str, max_results: int | None, max_description_length: int | None) -> str:
    """Return the request body; the same search always has the same bytes.

    Raises:
        ConfigurationError: when the query holds half of a surrogate pair, which is no text.

    """
    fields: dict[str, Any] = {"query": query}
    if max_results is not None:
        fields["maxResults"] = max_results
    if max_description_length is not None:
        fields["maxDescriptionLength"] = max_description_length
    body = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    try:
        body.encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError("the query is not well-formed text") from error
    return body
