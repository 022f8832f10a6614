"""Checks that every string of the interface is translated and that the compiled catalogue is the current one.

Run as a script; with --update it extracts the strings into locale/ and compiles the catalogue instead.
"""

import gettext
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = Path("locale/zh_Hans/LC_MESSAGES/django.po")
SOURCES = ("core", "accounts", "generation", "annotation", "calibration", "judging", "config", "templates", "locale")


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


MAKE_MESSAGES = """
from django.core.management import execute_from_command_line
from django.core.management.commands.makemessages import Command
Command.xgettext_options = [*Command.xgettext_options, "--keyword=worded", "--keyword=Wording", "--keyword=marked"]
execute_from_command_line()
"""
"""Also what core/messages/sentences.py marks for translation."""


def extract(root: Path) -> None:
    run(
        sys.executable,
        "-c",
        MAKE_MESSAGES,
        "makemessages",
        "--locale=zh_Hans",
        "--no-location",
        "--no-wrap",
        "--no-obsolete",
        "--ignore=tests",
        "--verbosity=0",
        cwd=root,
    )


def compile_catalogue(root: Path) -> None:
    po = root / CATALOGUE
    run("msgfmt", "--check", "-o", str(po.with_suffix(".mo")), str(po), cwd=root)


def untranslated(po: Path) -> list[str]:
    found = []
    for option in ("--untranslated", "--only-fuzzy"):
        text = run("msgattrib", option, "--no-obsolete", "--no-wrap", str(po), cwd=po.parent)
        found += [line[7:-1] for line in text.splitlines() if line.startswith('msgid "') and line != 'msgid ""']
    return found


def messages(mo: Path) -> dict[object, str]:
    with mo.open("rb") as file:
        return {key: text for key, text in gettext.GNUTranslations(file)._catalog.items() if key}  # type: ignore[attr-defined]


def main() -> None:
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)
    if shutil.which("xgettext") is None:
        sys.exit("Extracting strings needs gettext: apt-get install gettext, then try again.")
    if "--update" in sys.argv:
        (ROOT / CATALOGUE).parent.mkdir(parents=True, exist_ok=True)
        extract(ROOT)
        compile_catalogue(ROOT)
        print(f"{len(untranslated(ROOT / CATALOGUE))} strings to translate in {CATALOGUE}")
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for source in SOURCES:
            shutil.copytree(ROOT / source, copy / source, ignore=shutil.ignore_patterns("__pycache__"))
        extract(copy)
        missing = untranslated(copy / CATALOGUE)
        if missing:
            sys.exit(
                f"{len(missing)} strings are not translated in {CATALOGUE}; the first are: {missing[:10]}. "
                "Run tests/translations.py --update, translate them, and run it again."
            )
        compile_catalogue(copy)
        if messages(copy / CATALOGUE.with_suffix(".mo")) != messages(ROOT / CATALOGUE.with_suffix(".mo")):
            sys.exit(f"{CATALOGUE.with_suffix('.mo')} is not the current one; run tests/translations.py --update.")
        print("Every string is translated.")


if __name__ == "__main__":
    main()
