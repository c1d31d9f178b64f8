"""A service that answers as a test tells it, and remembers what it was asked.

It stands in where the shared worlds cannot be told what to say: for ``GET /payments/{nonce}`` and
``Idempotency-Key``. The real gateway answers both in test_real_gateway.py.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import search402 as sdk
from search402._wire import decode_header, encode_header


@dataclass(frozen=True)
class Asked:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Says:
    """One answer. ``code`` makes it one of the service; without it, something in between spoke."""

    status: int
    code: str | None = None
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    #: Closes the connection instead.
    drops: bool = False


RESULT = {
    "requestId": "r",
    "result": {
        "results": [{"title": "t", "url": "https://example.com/", "description": "d"}],
        "searchMetadata": {"executionTime": 0.5},
        "totalResults": 1,
    },
}
PAID = {"payment-response": encode_header({"success": True, "transaction": "0xaa"})}
DROP = Says(0, drops=True)
OK = Says(200, body=RESULT)


class StandIn:
    """Says what is in ``next`` to searches, then what is usual; and ``state`` and ``reply``."""

    def __init__(self) -> None:
        self.next: list[Says] = []
        self.state: Says = Says(404, "not_found")
        self.reply: Says = Says(404, "not_found")
        self.asked: list[Asked] = []
        #: What a challenge names as the service's own address.
        self.resource = "https://Search.Example:443/search"
        self.pay_to = "0x" + "11" * 20
        self.amount = "50"
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                self.answer()

            def do_GET(self) -> None:
                self.answer()

            def answer(self) -> None:
                length = int(self.headers.get("content-length", 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(length).decode()
                says = stand_in.hear(Asked(self.command, self.path, headers, body))
                if says.drops:
                    self.close_connection = True
                    return
                content = b"a page of a proxy" if says.body is None else b""
                if says.body is not None or says.code is not None:
                    fields = {"code": says.code, "title": says.code, "detail": "told to"}
                    content = json.dumps(says.body or fields).encode()
                self.send_response(says.status)
                for name, value in says.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def hear(self, asked: Asked) -> Says:
        self.asked.append(asked)
        if asked.method == "GET":
            return self.reply if asked.path.endswith("/reply") else self.state
        paid = "payment-signature" in asked.headers
        keyed = "authorization" in asked.headers
        if self.next and (paid or keyed):
            return self.next.pop(0)
        if keyed:
            return OK
        return Says(200, body=RESULT, headers=PAID) if paid else self.challenge()

    def challenge(self, code: str = "payment_required", error: str = "payment required") -> Says:
        """Return a 402 of the service."""
        challenge = {
            "x402Version": 2,
            "error": error,
            "resource": {"url": self.resource},
            "accepts": [
                {
                    "scheme": "exact",
                    "network": sdk.BASE_MAINNET,
                    "amount": self.amount,
                    "asset": sdk.BASE_USDC,
                    "payTo": self.pay_to,
                    "maxTimeoutSeconds": 300,
                    "extra": {"name": "USD Coin", "version": "2"},
                }
            ],
        }
        return Says(402, code, headers={"payment-required": encode_header(challenge)})

    def payments(self) -> list[str]:
        """Return the nonces of the payments that arrived, in order."""
        headers = [asked.headers.get("payment-signature") for asked in self.asked]
        decoded = [decode_header(header) for header in headers if header is not None]
        return [payment["payload"]["authorization"]["nonce"] for payment in decoded if payment]

    def questions(self) -> list[Asked]:
        """Return what was asked about payments."""
        return [asked for asked in self.asked if asked.method == "GET"]
