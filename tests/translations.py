"""Checks that every string of the interface is translated and that the compiled catalogues are the current ones.

Run as a script; with --update it extracts the strings into every folder of locale/ and compiles the catalogues instead.
"""

import gettext
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CATALOGUES = [
    folder.relative_to(ROOT) / "LC_MESSAGES" / "django.po"
    for folder in sorted((ROOT / "locale").iterdir())
    if folder.is_dir()
]
SOURCES = ("core", "accounts", "generation", "annotation", "calibration", "judging", "config", "templates", "locale")


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


MAKE_MESSAGES = """
from django.core.management import execute_from_command_line
from django.core.management.commands.makemessages import Command
Command.xgettext_options = [*Command.xgettext_options, "--keyword=Wording:2", "--keyword=marked"]
execute_from_command_line()
"""
"""Also what core/messages/message.py marks for translation."""


def extract(root: Path) -> None:
    run(
        sys.executable,
        "-c",
        MAKE_MESSAGES,
        "makemessages",
        *(f"--locale={po.parts[1]}" for po in CATALOGUES),
        "--no-location",
        "--no-wrap",
        "--no-obsolete",
        "--ignore=tests",
        "--verbosity=0",
        cwd=root,
    )


def compile_catalogue(root: Path, catalogue: Path) -> None:
    po = root / catalogue
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


def check(copy: Path, catalogue: Path) -> None:
    """Stop where a string has no translation, or where the compiled catalogue is not that of the strings extracted."""
    missing = untranslated(copy / catalogue)
    if missing:
        sys.exit(
            f"{len(missing)} strings are not translated in {catalogue}; the first are: {missing[:10]}. "
            "Run tests/translations.py --update, translate them, and run it again."
        )
    compile_catalogue(copy, catalogue)
    compiled = catalogue.with_suffix(".mo")
    if not (ROOT / compiled).exists() or messages(copy / compiled) != messages(ROOT / compiled):
        sys.exit(f"{compiled} is not the current one; run tests/translations.py --update.")


def main() -> None:
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)
    if shutil.which("xgettext") is None:
        sys.exit("Extracting strings needs gettext: apt-get install gettext, then try again.")
    if "--update" in sys.argv:
        for catalogue in CATALOGUES:
            (ROOT / catalogue).parent.mkdir(parents=True, exist_ok=True)
        extract(ROOT)
        for catalogue in CATALOGUES:
            compile_catalogue(ROOT, catalogue)
            print(f"{len(untranslated(ROOT / catalogue))} strings to translate in {catalogue}")
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for source in SOURCES:
            shutil.copytree(ROOT / source, copy / source, ignore=shutil.ignore_patterns("__pycache__"))
        extract(copy)
        for catalogue in CATALOGUES:
            check(copy, catalogue)
        print("Every string is translated.")


if __name__ == "__main__":
    main()
