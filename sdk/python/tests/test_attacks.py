"""What once cost somebody money, or could have."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from conftest import World

import search402 as sdk

SOURCE = Path(__file__).parents[1] / "src"
#: One search by a process of its own. Files say how far it is, and how far it may go.
PROGRAM = """
import sys, time
from pathlib import Path
from typing import Any, Literal
import search402._payer
from search402 import FileStore, PaymentOptions, PrivateKeySigner, Search402

url, key, path, folder, name = sys.argv[1:]
signer = PrivateKeySigner(key)

def wait_for(file):
    while not Path(folder, file).exists():
        time.sleep(0.005)

class Slow:
    address = signer.address
    def sign_typed_data(self, *data):
        Path(folder, f"signing-{name}").touch()
        wait_for("sign")
        return signer.sign_typed_data(*data)

class Watched(FileStore):
    def reserve(self, new, check):
        held = super().reserve(new, check)
        if held.id != new.id:
            Path(folder, f"waiting-{name}").touch()
        return held

search402._payer.FileStore = Watched
options = PaymentOptions(store=Watched(path) if path else None, max_total=100)
client = Search402(wallet=Slow(), payment=options, base_url=url)
Path(folder, f"ready-{name}").touch()
wait_for("go")
print(client.search("kestrel").request_id)
"""


class Processes:
    """Processes with one wallet and one store, that start their searches together."""

    def __init__(self, world: World, folder: Path, store: str) -> None:
        self._arguments = [world.url, world.private_key, store, str(folder)]
        self._folder = folder

    def start(self, name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", PROGRAM, *self._arguments, name]
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.wait_for(f"ready-{name}", process)
        return process

    def wait_for(self, files: str, *processes: subprocess.Popen[str], count: int = 1) -> None:
        while len(list(self._folder.glob(files))) < count:
            for process in processes:
                assert process.poll() is None, process.communicate()[1]
            time.sleep(0.01)

    def may(self, what: Literal["go", "sign"]) -> None:
        (self._folder / what).touch()


def answer_of(process: subprocess.Popen[str]) -> str:
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return out


@pytest.mark.parametrize("store", ["payments.sqlite", ""], ids=["a store", "the default store"])
def test_three_processes_with_one_search_sign_once(
    blocking_world: World, tmp_path: Path, store: str
) -> None:
    where = str(tmp_path / store) if store else ""
    processes = Processes(blocking_world, tmp_path, where)
    started = [processes.start(name) for name in "abc"]
    processes.may("go")
    processes.wait_for("waiting-*", *started, count=2)
    # The answer takes its time, so that the others find the payment open.
    slow: list[dict[str, Any]] = [{"kind": "slow-body", "ms": 3000}]
    blocking_world.steer(faults=slow * 3)
    processes.may("sign")
    answers = {answer_of(process) for process in started}
    assert blocking_world.signatures() == 1
    assert len(blocking_world.transfers) == 1
    assert len(answers) == 1
    assert len(list(tmp_path.glob("signing-*"))) == 1


def test_a_process_that_is_killed_while_it_signs_does_not_block_the_search(
    blocking_world: World, tmp_path: Path
) -> None:
    store = tmp_path / "payments.sqlite"
    processes = Processes(blocking_world, tmp_path, str(store))
    killed = processes.start("killed")
    processes.may("go")
    processes.wait_for("signing-killed", killed)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    # Sleeps take no time here: its patience is over at once.
    options = sdk.PaymentOptions(store=sdk.FileStore(store), max_total=50)
    blocking_world.client(payment=options).search("kestrel")
    assert blocking_world.signatures() == 1
    records = sdk.FileStore(store).list()
    assert [record.status for record in records] == ["released", "paid"]


def test_a_slow_process_that_was_given_up_sends_nothing_of_its_own(
    blocking_world: World, tmp_path: Path
) -> None:
    store = tmp_path / "payments.sqlite"
    processes = Processes(blocking_world, tmp_path, str(store))
    slow = processes.start("slow")
    processes.may("go")
    processes.wait_for("signing-slow", slow)
    # The answer is lost, so that the payment is still open when the slow one comes.
    blocking_world.steer(faults=[{"kind": "pass"}, {"kind": "drop-after"}])
    options = sdk.PaymentOptions(store=sdk.FileStore(store), max_total=50)
    with pytest.raises(sdk.APIConnectionError):
        blocking_world.client(payment=options, max_retries=0).search("kestrel")
    processes.may("sign")
    answer_of(slow)
    assert blocking_world.signatures() == 1
    assert len(blocking_world.transfers) == 1


def test_a_proxys_403_after_the_gateway_settled_is_paid_once(world: World) -> None:
    client = world.client()
    # It stands before the search and before the question about its payment alike.
    world.steer(faults=[{"kind": "pass"}, *[{"kind": "status-after", "status": 403}] * 12])
    for _ in range(6):
        with pytest.raises(sdk.PermissionDeniedError) as caught:
            client.search("kestrel")
        assert caught.value.payment is not None and caught.value.payment.status == "open"
    client.search("kestrel")
    assert world.signatures() == 1
    assert len(world.transfers) == 1


def test_the_daily_cap_holds_over_restarts_without_a_store_or_a_cap_a_day(world: World) -> None:
    # A gateway that takes all it can: 0.01 USD each, and says each time that it got nothing.
    world.steer(terms={"amount": "10000"}, moves=["lie"] * 200)
    options = sdk.PaymentOptions(max_per_request="0.01")
    for attempt in range(55):
        with pytest.raises(sdk.Search402Error):
            world.client(payment=options, max_retries=0).search(f"kestrel {attempt}")
    assert sum(transfer["amountUnits"] for transfer in world.transfers) == 1_000_000
    with pytest.raises(sdk.CapExceededError) as caught:
        world.client(payment=options).search("falcon")
    assert caught.value.cap == "max_per_day"


def test_clients_in_many_threads_share_the_default_store(blocking_world: World) -> None:
    def search(_: int) -> str:
        client = sdk.Search402(wallet=blocking_world.wallet, base_url=blocking_world.url)
        with client:
            return client.search("kestrel").request_id

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(search, range(8)))
    # Who comes after it is answered pays for a search of its own, but nobody pays beside it.
    assert len(blocking_world.transfers) == blocking_world.signatures() == len(answers)
