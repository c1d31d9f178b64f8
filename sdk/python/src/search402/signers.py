"""Who signs: anything with an address and ``sign_typed_data``."""

from __future__ import annotations

import re
from typing import Any, Protocol

from .errors import ConfigurationError

#: What a private key of this package signs, and which field names the payer.
_PAYER_FIELDS = {
    "TransferWithAuthorization": "from",
    "ReceiveWithAuthorization": "from",
    "PaymentStatusRequest": "payer",
    # A voucher names its channel, and the channel its payer.
    "Voucher": None,
}
_DOMAIN_FIELDS = (
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
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
        """Sign one EIP-3009 ``TransferWithAuthorization``, or one ``PaymentStatusRequest``.

        The second asks the service what became of a payment; it moves nothing. With channels also
        ``ReceiveWithAuthorization`` (a deposit) and ``Voucher`` (what may be claimed of it in all).
        """
        ...


class PrivateKeySigner:
    """A wallet from a private key, on libsecp256k1 (coincurve) and pycryptodome.

    It signs EIP-3009 transfers and deposits, vouchers of channels, and questions about payments,
    nothing else.
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
        self._address = _checksummed(keccak256(public[1:])[12:])

    @property
    def address(self) -> str:
        """The paying address (EIP-55)."""
        return self._address

    def __repr__(self) -> str:
        return f"PrivateKeySigner({self._address})"

    def sign_typed_data(
        self,
        domain_data: dict[str, Any],
        message_types: dict[str, list[dict[str, str]]],
        message_data: dict[str, Any],
        /,
    ) -> str:
        """Return r, s and v (27 or 28) as hex.

        Raises:
            ValueError: when the payer is somebody else, or the message is of another type.

        """
        (primary_type,) = message_types
        if primary_type not in _PAYER_FIELDS:
            raise ValueError(f"this key does not sign {primary_type}")
        payer_field = _PAYER_FIELDS[primary_type]
        payer = self._address if payer_field is None else message_data[payer_field]
        if payer.lower() != self._address.lower():
            raise ValueError("this key does not belong to the payer")
        digest = typed_data_digest(domain_data, message_types, message_data)
        signature: bytes = self._sign(digest, hasher=None)
        return "0x" + signature[:64].hex() + f"{signature[64] + 27:02x}"


def typed_data_digest(
    domain: dict[str, Any], types: dict[str, list[dict[str, str]]], message: dict[str, Any]
) -> bytes:
    """Return what EIP-712 says is signed, for one type without nested ones."""
    ((primary_type, fields),) = types.items()
    domain_fields = [(name, kind) for name, kind in _DOMAIN_FIELDS if name in domain]
    message_fields = [(field["name"], field["type"]) for field in fields]
    separator = _struct_hash("EIP712Domain", domain_fields, domain)
    return keccak256(b"\x19\x01" + separator + _struct_hash(primary_type, message_fields, message))


def _struct_hash(name: str, fields: list[tuple[str, str]], values: dict[str, Any]) -> bytes:
    # encodeType and encodeData of EIP-712.
    members = ",".join(f"{kind} {field}" for field, kind in fields)
    encoded = [_encode(kind, values[field]) for field, kind in fields]
    return keccak256(keccak256(f"{name}({members})".encode()) + b"".join(encoded))


def _encode(kind: str, value: Any) -> bytes:
    if kind == "string":
        return keccak256(value.encode())
    if kind == "address":
        return _word(int(value, 16))
    if kind.startswith("uint"):
        return _word(value)
    if kind == "bytes32":
        word = value if isinstance(value, bytes) else bytes.fromhex(value[2:])
        if len(word) == 32:
            return word
    raise ValueError(f"not a value of {kind}")


def _word(value: int) -> bytes:
    return value.to_bytes(32, "big")


def encode_words(*words: str) -> bytes:
    """Return 32-byte values, given as hex, one after another (``abi.encode``)."""
    return b"".join(_encode("bytes32", word) for word in words)


def keccak256(data: bytes) -> bytes:
    """Return the 32-byte digest that Ethereum uses.

    Raises:
        ConfigurationError: when the ``wallet`` extra is not installed.

    """
    try:
        from Crypto.Hash import keccak
    except ImportError as error:
        raise ConfigurationError(_MISSING) from error
    digest: bytes = keccak.new(digest_bits=256, data=data).digest()
    return digest


def _checksummed(address: bytes) -> str:
    lower = address.hex()
    digest = keccak256(lower.encode()).hex()
    return "0x" + "".join(
        character.upper() if int(nibble, 16) >= 8 else character
        for character, nibble in zip(lower, digest, strict=False)
    )
