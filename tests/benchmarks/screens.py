"""How a pair of two long texts comes up in Chromium: elements, time until usable, time to the next task.

Serves a study of pairs of so many words each (10,000) from a database of its own, then looks at every page of a large
study as its lead (lead_pages.py, in PostgreSQL where DATABASE_URL names it), and ends with one line of JSON:
{"dom_nodes", "interactive_ms", "next_ms", "lead_pages_p95_ms", "lead_pages_queries_max"}; the first three times are
medians of RUNS.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import types
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RUNS = 7
PORT = int(os.environ.get("BENCHMARK_PORT", "8765"))
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
SENTENCE = "the river carries sand and silt past the old harbour while people walk along its banks every morning"
WORDS = SENTENCE.split()


def long_text(words: int, seed: int) -> str:
    """Markdown of so many words: sections of ten paragraphs, with a list and a table now and then."""
    parts, written, number = [], 0, 0
    while written < words:
        if number % 10 == 0:
            parts.append(f"## Section {number // 10 + 1} of {seed}")
        sentence = " ".join(WORDS[(number * 7 + place * seed) % len(WORDS)] for place in range(80))
        parts.append(f"- {sentence[:200]}\n- **{sentence[200:]}**" if number % 9 == 5 else sentence.capitalize() + ".")
        written += 80
        number += 1
    return "\n\n".join(parts)


def make_pairs(words: int) -> None:
    """The study and its rater in a fresh database."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from annotation.assignment.new_slots import make_seats
    from tests.factories import make_user
    from tests.screen_studies import make_pair_study

    study = make_pair_study("four", instructions=RUNS + 3)
    study.policies["reading_pace"] = {"words": 0}  # nobody reads here, and who does not read is told so
    study.save(update_fields=["policies"])
    for number, task in enumerate(study.tasks.select_related("response_a", "response_b")):
        for response, seed in ((task.response_a, 2 * number + 3), (task.response_b, 2 * number + 4)):
            response.text = long_text(words, seed)
            response.words = words
            response.save()
    make_seats(study)
    make_user("rater", study.workspace, username="rosa")


@contextmanager
def serving():
    """gunicorn with one worker, as a small installation has it."""
    command = [sys.executable, "-m", "gunicorn", "config.wsgi:application", "--threads", "4"]
    command += ["--bind", f"127.0.0.1:{PORT}"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _attempt in range(120):
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health/", timeout=2)
                break
            time.sleep(0.5)
        yield f"http://127.0.0.1:{PORT}"
    finally:
        server.terminate()
        server.wait(20)


USABLE = """() => new Promise(done => {
    const ready = () => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
    if (document.readyState === "complete") ready(); else addEventListener("load", ready);
})"""
NEXT = """() => {
    window.followed = new Promise(done => {
        let pressed;
        document.addEventListener("keydown", () => { pressed = performance.now(); }, { once: true, capture: true });
        document.addEventListener("plumbline:task", () => requestAnimationFrame(() => requestAnimationFrame(
            () => done(performance.now() - pressed))), { once: true });
    });
}"""
"""From the key that answers a question asked alone, and so sends the answer, until the next task is painted."""


def measure(address: str) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    interactive, following, nodes = [], [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/sign-in/")
        page.fill("#id_username", "rosa")
        page.fill("#id_password", "plumb line 12")
        page.keyboard.press("Enter")
        page.click(".card button")
        page.wait_for_selector("#task")
        for _run in range(RUNS):
            page.reload(wait_until="commit")
            interactive.append(page.evaluate(USABLE))
            nodes.append(page.evaluate("document.querySelectorAll('*').length"))
            page.wait_for_function("() => document.getElementById('task').dataset.held")
            page.evaluate(NEXT)
            page.keyboard.press("a")
            following.append(page.evaluate("window.followed"))
            page.wait_for_timeout(300)
        browser.close()
    for name, times in (("interactive_ms", interactive), ("next_ms", following)):
        print(name, [round(ms) for ms in times], file=sys.stderr)
    return {
        "dom_nodes": max(nodes),
        "interactive_ms": round(statistics.median(interactive)),
        "next_ms": round(statistics.median(following)),
    }


def lead_pages(tasks: int) -> dict[str, object]:
    """What lead_pages.py measures, in a process of its own."""
    command = [sys.executable, str(ROOT / "tests" / "benchmarks" / "lead_pages.py"), "--tasks", str(tasks)]
    found = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    result = json.loads(found.stdout.splitlines()[-1])
    return {name: result[name] for name in ("lead_pages_p95_ms", "lead_pages_queries_max", "tasks", "database")}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", type=int, nargs="?", default=10_000)
    parser.add_argument("--tasks", type=int, default=100_000, help="Size of the lead's study; 0 leaves its pages out.")
    options = parser.parse_args()
    pages = lead_pages(options.tasks) if options.tasks else {}
    words = options.words
    sys.path.insert(0, str(ROOT))
    # Installed packages bring a "tests" of their own, which would come before a folder without __init__.py.
    sys.modules["tests"] = own = types.ModuleType("tests")
    own.__path__ = [str(ROOT / "tests")]
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"PLUMBLINE_DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "config.settings"}
        os.environ.pop("DATABASE_URL", None)
        make_pairs(words)
        with serving() as address:
            result = measure(address)
    print(json.dumps(result | pages))


if __name__ == "__main__":
    main()
