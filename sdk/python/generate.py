"""Writes the blocking client from the async one, as ``[tool.unasyncd]`` in pyproject.toml says.

``python generate.py --check`` writes nothing and fails when the two differ. (The ``--check`` of
unasyncd 0.10.1 itself never fails.)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = Path("src", "search402", "_async_client.py")
TARGET = Path("src", "search402", "_client.py")


def generated() -> str:
    """Return what the blocking client should be."""
    programs = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / SOURCE).parent.mkdir(parents=True)
        for file in (Path("pyproject.toml"), SOURCE):
            shutil.copyfile(HERE / file, folder / file)
        # unasyncd finds ruff on the path.
        path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
        result = subprocess.run(
            [shutil.which("unasyncd", path=path) or "unasyncd", "--force", "--no-cache"],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        if not (folder / TARGET).exists():
            sys.exit(f"unasyncd wrote nothing:\n{result.stdout}{result.stderr}")
        return (folder / TARGET).read_text(encoding="utf-8")


def main() -> None:
    """Write or check."""
    wanted = generated()
    target = HERE / TARGET
    if target.read_text(encoding="utf-8") == wanted:
        return
    if sys.argv[1:] == ["--check"]:
        sys.exit(f"{TARGET} is not what {SOURCE} gives; run: python generate.py")
    target.write_text(wanted, encoding="utf-8")
    print(f"wrote {TARGET}")


main()
