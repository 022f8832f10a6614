"""The documentation as a site: `make docs` builds it with Sphinx from the Markdown of this folder, as it stands.

docs/index.md is the only list of pages: the site's navigation and llms.txt (https://llmstxt.org) are made from its sections.
"""

import re
import shutil
from pathlib import Path
from typing import Any

project = "Plumbline"
author = "The authors of Plumbline"
language = "en"

extensions = ["myst_parser"]
root_doc = "index"
myst_heading_anchors = 4
highlight_language = "none"

html_theme = "furo"
html_title = "Plumbline"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

SECTION = re.compile(r"^## (?P<title>.+)$", re.MULTILINE)
ENTRY = re.compile(r"^- \[(?P<title>[^]]+)\]\((?P<path>[^)]+\.md)\): (?P<line>.+)$", re.MULTILINE)


def sections(index: str) -> dict[str, list[tuple[str, str, str]]]:
    """Return the entries (title, path from docs/, one line) of each section of the text of index.md."""
    _head, *parts = SECTION.split(index)
    return {title: ENTRY.findall(text) for title, text in zip(parts[::2], parts[1::2], strict=True)}


def navigation(index: str) -> str:
    """Return the text of index.md with a hidden table of contents for each of its sections, in MyST's notation."""
    trees = [
        "\n".join(
            ["```{toctree}", ":hidden:", f":caption: {title}", "", *(path for _title, path, _line in entries), "```"]
        )
        for title, entries in sections(index).items()
    ]
    return "\n\n".join([index, *trees]) + "\n"


def llms_txt(index: str) -> str:
    """Return llms.txt: title, summary, and each section as a list of links to the pages as Markdown."""
    head = SECTION.split(index)[0].strip()
    lists = [
        "\n".join([f"## {title}", "", *(f"- [{name}]({path}): {line}" for name, path, line in entries)])
        for title, entries in sections(index).items()
    ]
    return "\n\n".join([head, *lists]) + "\n"


def _add_navigation(_app: Any, page: str, source: list[str]) -> None:
    if page == root_doc:
        source[0] = navigation(source[0])


def _write_llms_txt(app: Any, failed: Exception | None) -> None:
    """Write llms.txt into the site, and beside each page its Markdown, to which llms.txt and the page's readers link."""
    if failed is not None:
        return
    source, site = Path(app.srcdir), Path(app.outdir)
    (site / "llms.txt").write_text(llms_txt((source / "index.md").read_text(encoding="utf-8")), encoding="utf-8")
    for page in source.rglob("*.md"):
        shutil.copyfile(page, site / page.relative_to(source))


def setup(app: Any) -> None:
    app.connect("source-read", _add_navigation)
    app.connect("build-finished", _write_llms_txt)
