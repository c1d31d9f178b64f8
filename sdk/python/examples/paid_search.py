"""The first paid search: no account, only a wallet with a little USDC on Base.

Needs SEARCH402_PRIVATE_KEY; SEARCH402_BASE_URL says where.
"""

import os

from search402 import FileStore, PaymentOptions, PrivateKeySigner, Search402

options = PaymentOptions(
    max_per_request="0.001",
    max_per_day="0.10",
    max_total="1",
    # Payments survive a restart: nothing is paid twice.
    store=FileStore(os.environ.get("SEARCH402_STORE", "payments.sqlite")),
    on_payment=lambda payment: print(f"payment {payment.status}: {payment.amount_units} units"),
)
wallet = PrivateKeySigner(os.environ["SEARCH402_PRIVATE_KEY"])

with Search402(wallet=wallet, payment=options) as client:
    print(f"one search costs {client.quote().amount_usd} USD")
    outcome = client.search_with_response("kestrel nesting cliffs", max_results=5)

for item in outcome.data.result.results:
    print(item.title, item.url)
