"""How long it takes from `pip install FILE.whl` until the address that the demonstration prints answers.

    make bench NAME=install

Builds the wheel, makes an empty environment with this Python's venv, installs the wheel with pip and with the locked
versions of what it needs, and runs `plumbline demo` in an empty folder until it prints its address and the page answers.
Packages come from where pip is configured to look for them, so the first part depends on that. The last line is JSON:
install_s, demo_s and together install_to_address_s.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "installed"))

from built_wheel import LOCK, bare_environment, build_wheel, wait_for_address

LONGEST = 600.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheel = build_wheel(place / "wheel")
        subprocess.run([sys.executable, "-m", "venv", str(place / "env")], check=True)
        programs = place / "env" / "bin"
        # With the hashes of the lock, pip would demand one of the wheel as well.
        versions = place / "versions.txt"
        versions.write_text("\n".join(re.findall(r"^[\w.\[\]-]+==[^\\\n]*", LOCK.read_text(), re.MULTILINE)))
        begun = time.perf_counter()
        pip = [
            str(programs / "pip"),
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--constraint",
            str(versions),
        ]
        subprocess.run([*pip, str(wheel)], check=True)
        installed = time.perf_counter()
        shown = serve(programs, place)
    found = {"install_s": installed - begun, "demo_s": shown - installed, "install_to_address_s": shown - begun}
    print(json.dumps({name: round(seconds, 1) for name, seconds in found.items()}))


def serve(programs: Path, place: Path) -> float:
    """Make and serve the demonstration; return when the page at the address that it printed has answered."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    (place / "work").mkdir()
    server = subprocess.Popen(
        [str(programs / "plumbline"), "demo", "--port", port, "--data", str(place / "data")],
        cwd=place / "work",
        env=bare_environment(place / "home"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        answers(wait_for_address(server, LONGEST))
        return time.perf_counter()
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.communicate(timeout=60)


def answers(address: str) -> None:
    """Return once the start page answers. Raises OSError where it does not within a minute."""
    until = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=60):
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    main()
