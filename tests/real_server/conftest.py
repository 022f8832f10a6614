"""vLLM on the CPU with a tiny random model, in its own environment under .cache/vllm; `make test-vllm` installs it."""

import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".cache" / "vllm"
PYTHON = ENVIRONMENT / "bin" / "python"
MODEL = ROOT / ".cache" / "tiny-model"
UP_SECONDS = 300
CONTEXT = 4096


@pytest.fixture(scope="session")
def vllm_python() -> Path:
    if not PYTHON.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must have {PYTHON}; run make test-vllm")
        pytest.skip("vLLM is not installed here; run make test-vllm")
    return PYTHON


@pytest.fixture(scope="session")
def tiny_model(vllm_python: Path) -> Path:
    script = Path(__file__).with_name("make_model.py")
    made = MODEL / "made-by"
    if not made.exists() or made.read_text() != script.read_text():
        subprocess.run([vllm_python, script, MODEL], check=True, capture_output=True)
        made.write_text(script.read_text())
    return MODEL


@pytest.fixture(scope="session")
def served(vllm_python: Path, tiny_model: Path) -> Iterator[str]:
    """The base URL of a server that chats."""
    yield from _serve(vllm_python, tiny_model, "--max-num-seqs", "16")


@pytest.fixture(scope="session")
def embedder(vllm_python: Path, tiny_model: Path) -> Iterator[str]:
    """The base URL of a server that embeds."""
    yield from _serve(vllm_python, tiny_model, "--runner", "pooling", "--convert", "embed")


def _serve(python: Path, model: Path, *more: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = ROOT / ".cache" / f"vllm-{port}.log"
    command = [
        python,
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        model,
        "--served-model-name",
        "tiny",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--max-model-len",
        str(CONTEXT),
        "--dtype",
        "float32",
        "--enforce-eager",
        *more,
    ]
    quiet = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=output,
            stderr=output,
            cwd=ROOT / ".cache",
            env={**os.environ, **quiet},
            start_new_session=True,
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        log.unlink(missing_ok=True)


def _wait(process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    ends = time.monotonic() + UP_SECONDS
    while time.monotonic() < ends:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"vLLM did not come up in {UP_SECONDS} seconds: {log.read_text(errors='replace')[-3000:]}")
