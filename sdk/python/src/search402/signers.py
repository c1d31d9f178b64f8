"""Who signs: anything with an address and ``sign_typed_data``."""

from __future__ import annotations

import re
from typing import Any, Protocol

from .errors import ConfigurationError

_DOMAIN_TYPE = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
_TRANSFER_TYPE = (
    b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,"
    b"uint256 validBefore,bytes32 nonce)"
)
_MISSING = 'signing with a private key needs an extra: pip install "search402[wallet]"'


class Signer(Protocol):
    """A wallet. An ``eth_account`` account fits as it is.

    ``sign_typed_data`` takes the EIP-712 domain, the types without ``EIP712Domain``, and the
    message, and returns the signature as bytes, as hex, or as an object with ``signature``. With
    the async client it may be a coroutine function.
    """

    @property
    def address(self) -> str:
        """The paying address, 20 bytes of hex with ``0x``."""
        ...

    def sign_typed_data(self, domain_data: Any, message_types: Any, message_data: Any, /) -> Any:
        """Sign one EIP-3009 ``TransferWithAuthorization``."""
        ...


class PrivateKeySigner:
    """A wallet from a private key, on libsecp256k1 (coincurve) and pycryptodome.

    It signs EIP-3009 transfers and nothing else.
    """

    def __init__(self, private_key: str) -> None:
        """Take a private key: 32 bytes of hex, with or without ``0x``.

        Raises:
            ConfigurationError: when it is none (the message does not repeat it), or when the
                ``wallet`` extra is not installed.

        """
        try:
            from coincurve import PrivateKey
        except ImportError as error:
            raise ConfigurationError(_MISSING) from error
        match = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{64})", private_key.strip())
        try:
            if match is None:
                raise ValueError
            self._key = PrivateKey(bytes.fromhex(match[1]))
        except ValueError:
            message = "the private key must be 32 bytes of hex"
            raise ConfigurationError(message) from None
        self._sign: Any = self._key.sign_recoverable  # pyright: ignore[reportUnknownMemberType]
        public = self._key.public_key.format(compressed=False)
        self._address = _checksummed(_keccak256(public[1:])[12:])

    @property
    def address(self) -> str:
        """The paying address (EIP-55)."""
        return self._address

    def __repr__(self) -> str:
        return f"PrivateKeySigner({self._address})"

    def sign_typed_data(
        self, domain_data: dict[str, Any], message_types: Any, message_data: dict[str, Any], /
    ) -> str:
        """Return r, s and v (27 or 28) as hex.

        Raises:
            ValueError: when the payer is somebody else.

        """
        if message_data["from"].lower() != self._address.lower():
            raise ValueError("this key does not belong to the payer")
        digest = typed_data_digest(domain_data, message_data)
        signature: bytes = self._sign(digest, hasher=None)
        return "0x" + signature[:64].hex() + f"{signature[64] + 27:02x}"


def typed_data_digest(domain: dict[str, Any], message: dict[str, Any]) -> bytes:
    """Return what EIP-712 says is signed for an EIP-3009 transfer."""
    separator = _keccak256(
        _keccak256(_DOMAIN_TYPE)
        + _keccak256(domain["name"].encode())
        + _keccak256(domain["version"].encode())
        + _word(domain["chainId"])
        + _word(int(domain["verifyingContract"], 16))
    )
    nonce = message["nonce"]
    struct = _keccak256(
        _keccak256(_TRANSFER_TYPE)
        + _word(int(message["from"], 16))
        + _word(int(message["to"], 16))
        + _word(message["value"])
        + _word(message["validAfter"])
        + _word(message["validBefore"])
        + (nonce if isinstance(nonce, bytes) else bytes.fromhex(nonce[2:]))
    )
    return _keccak256(b"\x19\x01" + separator + struct)


def _word(value: int) -> bytes:
    return value.to_bytes(32, "big")


def _keccak256(data: bytes) -> bytes:
    try:
        from Crypto.Hash import keccak
    except ImportError as error:
        raise ConfigurationError(_MISSING) from error
    digest: bytes = keccak.new(digest_bits=256, data=data).digest()
    return digest


def _checksummed(address: bytes) -> str:
    lower = address.hex()
    digest = _keccak256(lower.encode()).hex()
    return "0x" + "".join(
        character.upper() if int(nibble, 16) >= 8 else character
        for character, nibble in zip(lower, digest, strict=False)
    )
