"""The wheel built from this checkout, and an empty environment that it is installed in, for tests and measurements."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "run.txt"
READY = "Plumbline is at "


def _uv() -> str:
    from uv import find_uv_bin

    return find_uv_bin()


def build_wheel(folder: Path) -> Path:
    """Build with the build back end that the tests' environment has, so that nothing is fetched."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [_uv(), "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*command, "--out-dir", str(folder), str(ROOT)], check=True, env=environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel, with the locked versions of what it needs, in a new environment; return its programs' folder."""
    subprocess.run([_uv(), "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    command = [_uv(), "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    subprocess.run([*command, "--constraints", str(LOCK), str(wheel)], check=True)
    return folder / "bin"


def bare_environment(home: Path, **variables: str) -> dict[str, str]:
    """Nothing of the developer's shell: a home, the system's programs, and the variables given."""
    return {"PATH": os.defpath, "HOME": str(home), **variables}


def wait_for_address(server: subprocess.Popen[str], seconds: float) -> str:
    """Return the address that the server prints; its output has to be a pipe of its own. Raises TimeoutError."""
    assert server.stdout is not None
    until = time.monotonic() + seconds
    for line in server.stdout:
        if line.startswith(READY):
            return line.removeprefix(READY).split()[0]
        if time.monotonic() > until:
            break
    raise TimeoutError(f"no line begins with {READY!r}; the server's exit status is {server.poll()}")
