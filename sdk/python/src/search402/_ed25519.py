"""Checks Ed25519 signatures (RFC 8032, 5.1.7), so that a receipt needs no other package.

Public numbers only: nothing here has to take the same time for all of them. A check takes a few
milliseconds.
"""

from __future__ import annotations

from hashlib import sha512

_PRIME = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _PRIME) % _PRIME
_SQRT_OF_MINUS_ONE = pow(2, (_PRIME - 1) // 4, _PRIME)

#: X, Y, Z and T with x = X/Z, y = Y/Z and xy = T/Z (RFC 8032, 5.1.4).
Point = tuple[int, int, int, int]
_NEUTRAL: Point = (0, 1, 1, 0)


def _add(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0])
    b = (one[1] + one[0]) * (other[1] + other[0])
    c = 2 * one[3] * other[3] * _D
    d = 2 * one[2] * other[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _PRIME, g * h % _PRIME, f * g % _PRIME, e * h % _PRIME


def _multiply(scalar: int, point: Point) -> Point:
    result = _NEUTRAL
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point = _add(point, point)
        scalar >>= 1
    return result


def _decode(data: bytes) -> Point | None:
    """Read a point (RFC 8032, 5.1.3); None when it is none."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    if y >= _PRIME:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _PRIME) % _PRIME
    x = pow(square, (_PRIME + 3) // 8, _PRIME)
    if (x * x - square) % _PRIME:
        x = x * _SQRT_OF_MINUS_ONE % _PRIME
    if (x * x - square) % _PRIME or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = _PRIME - x
    return x, y, 1, x * y % _PRIME


_BASE = _decode((4 * pow(5, -1, _PRIME) % _PRIME).to_bytes(32, "little"))


def is_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Tell whether this key made this signature over this message."""
    if len(public_key) != 32 or len(signature) != 64 or _BASE is None:
        return False
    key, commitment = _decode(public_key), _decode(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or scalar >= _ORDER:
        return False
    digest = sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % _ORDER
    left = _multiply(scalar, _BASE)
    right = _add(commitment, _multiply(challenge, key))
    return (left[0] * right[2] - right[0] * left[2]) % _PRIME == 0 and (
        left[1] * right[2] - right[1] * left[2]
    ) % _PRIME == 0
