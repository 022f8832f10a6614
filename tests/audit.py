"""Look for known vulnerabilities of the locked packages (make audit), where a service that lists them can be reached.

AUDIT_URL names another service that speaks OSV's protocol. Without any service, the audit says that it was skipped and
succeeds, so that a machine without network can run every other check.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import requests

ROOT = Path(__file__).resolve().parent.parent
LOCKED = ROOT / "requirements" / "run.txt"
OSV = "https://api.osv.dev/v1/query"
PYPI = "https://pypi.org/pypi/jinja2/2.4.1/json"
KNOWN = {"package": {"name": "jinja2", "ecosystem": "PyPI"}, "version": "2.4.1"}
"""A package with vulnerabilities that every service knows; one that knows none of them is a mirror without the list."""
CONNECT_SECONDS, AUDIT_SECONDS = 5, 120


def services() -> list[tuple[str, list[str]]]:
    """Return the services that answer, each with pip-audit's options for it."""
    url = os.environ.get("AUDIT_URL", OSV)
    found = []
    if _knows("vulns", "POST", url, json=KNOWN):
        found.append((url, ["--vulnerability-service", "osv", "--osv-url", url]))
    if "AUDIT_URL" not in os.environ and _knows("vulnerabilities", "GET", PYPI):
        found.append(("https://pypi.org", ["--vulnerability-service", "pypi"]))
    return found


def _knows(key: str, method: str, url: str, **body: Any) -> bool:
    try:
        answer = requests.request(method, url, timeout=CONNECT_SECONDS, **body)
        return answer.ok and bool(answer.json().get(key))
    except (requests.RequestException, ValueError):
        return False


def report(options: list[str]) -> list[dict[str, Any]] | None:
    """Return what pip-audit says of every package, or None if the service failed it."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCKED), "--disable-pip", "--require-hashes"]
    quiet = ["--format", "json", "--progress-spinner", "off", "--timeout", str(CONNECT_SECONDS)]
    try:
        done = subprocess.run([*command, *quiet, *options], capture_output=True, timeout=AUDIT_SECONDS, check=False)
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError):
        return None
    return found


def main() -> int:
    for place, options in services():
        packages = report(options)
        audited = [package for package in packages or [] if "vulns" in package]
        if not audited:
            continue
        vulnerable = [package for package in audited if package["vulns"]]
        for package in vulnerable:
            ids = ", ".join(vulnerability["id"] for vulnerability in package["vulns"])
            versions = sorted({one for vulnerability in package["vulns"] for one in vulnerability["fix_versions"]})
            print(
                f"{package['name']} {package['version']}: {ids} (mended in {', '.join(versions) or 'no version yet'})"
            )
        print(
            f"Audited {len(audited)} of {len(packages or [])} locked packages at {place}: {len(vulnerable)} vulnerable."
        )
        return 1 if vulnerable else 0
    print("SKIPPED the audit of the locked packages: no service that lists vulnerabilities can be reached from here.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
