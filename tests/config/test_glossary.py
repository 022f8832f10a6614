"""The interface and the documentation use the words of docs/glossary.md, and none that it retires."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "glossary.md"
CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"


def rows():
    """(term, Chinese, meaning, retired words) of every row."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if len(cells) == 4 and cells[0] not in ("term", "write"):
            yield cells[0], cells[1], cells[2], [word.strip() for word in cells[3].split(",") if word.strip()]


LABELS = {"to look at", "all of it", "your own word", "as they were", "busier", "fewer answers"}
"""Retired as whole labels; in a sentence they are good English."""


def retired():
    return [word for *_others, words in rows() for word in words]


def uses(text):
    """The retired words that a text uses outside of code type."""
    plain = re.sub(r"`[^`]*`|<code>.*?</code>|<[^>]*>|%\(\w+\)s", " ", text)
    if plain.strip().lower() in LABELS:
        return [plain.strip().lower()]
    return [
        word
        for word in retired()
        if word not in LABELS and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", plain, re.IGNORECASE)
    ]


def sentences():
    """Every English string of the interface."""
    text = CATALOGUE.read_text(encoding="utf-8")
    for quoted in re.findall(r'^msgid(?:_plural)? ((?:"(?:[^"\\]|\\.)*"\n)+)', text, re.MULTILINE):
        yield "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', quoted)).replace('\\"', '"').replace("\\n", "\n")


def test_the_glossary_has_rows_in_both_languages():
    found = list(rows())
    assert len(found) > 60 and len(retired()) > 25
    assert all(re.search(r"[\u4e00-\u9fff]", chinese) for _term, chinese, *_others in found)
    assert len({term for term, *_others in found}) == len(found)


def test_a_retired_word_is_found():
    assert uses("A panel of judges, or a Jury, decides.") == ["jury"]
    assert uses("Run `manage.py watches` or <code>seat</code>; %(seat)s") == []


def test_no_string_of_the_interface_uses_a_retired_word():
    found = {one: words for one in sentences() if (words := uses(one))}
    assert found == {}


def test_no_chinese_string_uses_a_word_beside_that_of_the_glossary():
    chinese = {term: words for term, words, *_others in rows()}
    assert (chinese["judge"], chinese["verdict"]) == ("评判模型", "判定")
    catalogue = CATALOGUE.read_text(encoding="utf-8")
    assert re.findall("评审|裁决|裁判", catalogue) == []


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/*.md")) + [ROOT / "README.md"], ids=lambda page: page.name)
def test_no_page_of_the_documentation_uses_a_retired_word(page):
    if page == PAGE:
        return
    lines = page.read_text(encoding="utf-8").splitlines()
    found = [f"{number}: {', '.join(words)}" for number, line in enumerate(lines, 1) if (words := uses(line))]
    assert found == []
