"""A wallet's signature, as hex."""

from __future__ import annotations

import re
from typing import Any

from ._effects import Ask, Flow
from .errors import SigningError
from .signers import Signer


def signature_of(
    wallet: Signer,
    domain: dict[str, Any],
    types: dict[str, list[dict[str, str]]],
    message: dict[str, Any],
) -> Flow[str]:
    """Ask a wallet to sign.

    Raises:
        SigningError: when it refuses, fails or answers with anything but a signature.

    """
    sign = wallet.sign_typed_data
    try:
        signature: Any = yield Ask(lambda: sign(domain, types, message))
    except Exception as error:
        raise SigningError(f"the wallet did not sign: {error}") from error
    value = getattr(signature, "signature", signature)
    text = "0x" + bytes(value).hex() if isinstance(value, (bytes, bytearray)) else value
    if not isinstance(text, str) or not re.fullmatch("0x[0-9a-fA-F]{130,}", text):
        raise SigningError("the wallet returned something that is not a signature")
    return text
