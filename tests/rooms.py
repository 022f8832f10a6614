"""Checks that docs/architecture.md lists every file with the first line of its docstring.

Run as a script; with --update it writes the list instead.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
HEADING = "## Rooms\n"
APPS = ("accounts", "generation", "annotation", "calibration", "judging", "config")
PLAIN = {
    "admin.py": "administration",
    "asgi.py": "ASGI entry",
    "forms.py": "forms",
    "models.py": "tables",
    "urls.py": "addresses",
    "wsgi.py": "WSGI entry",
}
"""What a file holds whose name says it, where it has no docstring."""


def first_line(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0] or PLAIN.get(file.name, "")


def files_of(app: str) -> list[Path]:
    found = (ROOT / app).rglob("*.py")
    return sorted(
        one for one in found if one.name not in ("__init__.py", "apps.py") and "migrations" not in one.parts
    )


def rooms() -> str:
    parts = [HEADING, "The first line of every file's docstring.\n"]
    for app in APPS:
        parts += [f"\n### {app}/\n\n", "| file | holds |\n|---|---|\n"]
        for file in files_of(app):
            parts.append(
                f"| `{file.relative_to(ROOT / app)}` | {first_line(file).replace('|', chr(92) + '|')} |\n"
            )
    return "".join(parts)


def main() -> None:
    mute = [str(file.relative_to(ROOT)) for app in APPS for file in files_of(app) if not first_line(file)]
    if mute:
        sys.exit(f"These files do not say in a docstring what they hold: {', '.join(mute)}.")
    before, _heading, _old = PAGE.read_text(encoding="utf-8").partition(HEADING)
    wanted = before + rooms()
    if "--update" in sys.argv:
        PAGE.write_text(wanted, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != wanted:
        sys.exit("docs/architecture.md does not list the files as they are: run tests/rooms.py --update.")
    else:
        print("docs/architecture.md lists every file.")


if __name__ == "__main__":
    main()
