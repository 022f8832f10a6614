"""The pictures of docs/gallery.md, taken from the demonstration with Debian's Chromium.

    make pictures [ARGS="--only weights rating"]

Makes the demonstration in a folder of its own, serves it, opens each page as a lead or a rater does, waits until its numbers
are there, and writes docs/images/NAME.png.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
PASSWORD = "plumb line demo"
STUDY = "/w/main/studies/demo/"
DESKTOP, PHONE = (1280, 860), (390, 844)
LONGEST = 120.0
"""Seconds that a page may take until its numbers are there."""


@dataclass(frozen=True)
class Picture:
    """A picture: who opens which address, in which language and size; `begins` presses the rater's button to begin."""

    name: str
    address: str
    user: str = "lead"
    language: str = "en"
    size: tuple[int, int] = DESKTOP
    begins: bool = False


PICTURES = (
    Picture("home", "/"),
    Picture("dashboard", STUDY),
    Picture("agreement", f"{STUDY}agreement/"),
    Picture("weights", f"{STUDY}weights/"),
    Picture("rankings", f"{STUDY}rankings/"),
    Picture("raters", f"{STUDY}raters/"),
    Picture("planner", f"{STUDY}planner/"),
    Picture("judges", f"{STUDY}judges/"),
    Picture("leaderboard", "/w/main/leaderboards/plumbline-demo/"),
    Picture("library", "/library/"),
    Picture("rating", "/", user="rater", begins=True),
    Picture("rating-phone", "/", user="rater", language="zh-hans", size=PHONE, begins=True),
)


@contextmanager
def served() -> Iterator[str]:
    """The address of a server with the demonstration."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        environment = {**os.environ, "PLUMBLINE_DATA_DIR": folder, "PLUMBLINE_BIND": "127.0.0.1"}
        manage = [sys.executable, str(ROOT / "manage.py")]
        subprocess.run([*manage, "demo", "--no-serve"], env=environment, check=True, stdout=subprocess.DEVNULL)
        server = subprocess.Popen(
            [*manage, "runserver", "--noreload", str(port)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for _attempt in range(120):
                with suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live/", timeout=2)
                    break
                time.sleep(0.5)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)


def take(browser: Browser, base: str, picture: Picture) -> None:
    width, height = picture.size
    context = browser.new_context(
        base_url=base,
        viewport={"width": width, "height": height},
        locale="zh-CN" if "zh" in picture.language else "en-GB",
    )
    page = context.new_page()
    page.goto("/sign-in/")
    page.fill("[name=username]", picture.user)
    page.fill("[name=password]", PASSWORD)
    page.press("[name=password]", "Enter")
    page.wait_for_load_state("networkidle")
    page.goto(picture.address)
    if picture.begins:
        page.locator("form[action$='/rate/'] button").first.click()
        page.wait_for_load_state("networkidle")
    until_computed(page)
    page.screenshot(path=IMAGES / f"{picture.name}.png")
    context.close()
    print(f"docs/images/{picture.name}.png")


def until_computed(page: Page) -> None:
    """Wait until nothing on the page asks every two or three seconds whether its numbers are there. Raises SystemExit."""
    ends = time.monotonic() + LONGEST
    while page.locator("[hx-trigger='every 3s'], [hx-trigger='every 2s']").count():
        if time.monotonic() > ends:
            raise SystemExit(f"{page.url} has no numbers after {LONGEST:.0f} s.")
        page.wait_for_timeout(500)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[one.name for one in PICTURES], help="only these")
    only = parser.parse_args().only
    with served() as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for picture in PICTURES:
            if only is None or picture.name in only:
                take(browser, base, picture)
        browser.close()


if __name__ == "__main__":
    main()
