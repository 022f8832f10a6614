"""Each page of docs is listed in docs/index.md, and so in the navigation and llms.txt; every link leads somewhere."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
PAGES = sorted(DOCS.rglob("*.md"))
SITE = runpy.run_path(str(DOCS / "conf.py"))


def prose(page):
    """A page without its code, in which brackets are no links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(?<=\n\n) {4}[^\n]*(\n {4}[^\n]*)*", "", text)
    return re.sub(r"`[^`]*`", "", text)


def links(page):
    return re.findall(r"\]\(([^)\s]+)\)", prose(page))


def anchors(page):
    """The anchors that GitHub and the site give to headings: lower case, hyphens for spaces, no other marks."""
    found = []
    for heading in re.findall(r"^#{1,4} (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)|`", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        count = sum(slug == re.sub(r"-\d+$", "", other) for other in found)
        found.append(f"{slug}-{count}" if slug in found else slug)
    return found


def problem_with(link, page):
    """What is wrong with a relative link of a page, or None."""
    if re.match(r"[a-z]+:", link):
        return None
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return "there is no such file"
    if DOCS in page.parents and DOCS not in [target, *target.parents]:
        return "the site has only what is in docs"
    if anchor and anchor not in anchors(target):
        return "there is no such heading"
    return None


def listed():
    return [path for entries in SITE["sections"](INDEX).values() for _title, path, _line in entries]


def test_every_page_is_listed_once():
    pages = [str(page.relative_to(DOCS)) for page in PAGES if page != DOCS / "index.md"]
    assert len(pages) > 30
    assert sorted(listed()) == sorted(pages)


def test_every_line_of_the_index_is_an_entry():
    written = re.findall(r"^- .+$", INDEX, re.MULTILINE)
    assert len(written) == len(listed())


def test_llms_txt_has_the_shape_of_the_convention():
    title, summary, *rest = re.split(r"\n\n+", SITE["llms_txt"](INDEX).rstrip("\n"))
    assert title == "# Plumbline"
    assert all(line.startswith("> ") for line in summary.splitlines())
    headings, lists = rest[::2], rest[1::2]
    assert len(headings) == len(lists) > 3 and all(re.fullmatch(r"## .+", heading) for heading in headings)
    entries = [line for text in lists for line in text.splitlines()]
    assert all(re.fullmatch(r"- \[[^]]+\]\([^)]+\.md\): .+", line) for line in entries)
    assert len(entries) == len(PAGES) - 1


def test_the_navigation_has_every_page_and_the_index_as_it_stands():
    text = SITE["navigation"](INDEX)
    assert text.startswith(INDEX)
    trees = re.findall(r"^```\{toctree\}\n:hidden:\n:caption: [^\n]+\n\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert [path for tree in trees for path in tree.split()] == listed()


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page):
    wrong = {link: problem for link in links(page) if (problem := problem_with(link, page))}
    assert wrong == {}


def test_links_are_found_and_broken_ones_are_named():
    assert sum(len(links(page)) for page in PAGES) > 150
    page = DOCS / "leads.md"
    assert problem_with("researchers.md#fit-weights", page) is None
    assert problem_with("nowhere.md", page) == "there is no such file"
    assert problem_with("researchers.md#nowhere", page) == "there is no such heading"
    assert problem_with("../README.md", page) == "the site has only what is in docs"
