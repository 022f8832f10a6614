"""What every result page must hold: who may see it, no NaN, and figures and tables that can be taken away."""

import csv
import html
import io
import json
import re

from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from tests.factories import make_user, make_workspace
from tests.markup import markup

HTMX = {"HTTP_HX_REQUEST": "true"}
CLAIMS = re.compile(
    r"\b(ahead|behind|leads?|leader|first place|ranks first|highest|best|better|worse|worst|replace|invert\w*|prefers?|"
    r"favou?rs?|exaggerat\w*|compress\w*|differ|differs|difference|predicts?|strict\w*|lenient|severe\w*|drift\w*|"
    r"at random|uncertainty|saves?|saved|improves?|reduces?|explains?|is shown|are shown|goes with|against|widest|"
    r"most often)\b",
    re.IGNORECASE,
)
UNCLAIMED = re.compile(
    r"\b(not shown|not stated|not tested|cannot be|no judge can|undefined|nothing to|whether|nobody|0 of \d+)\b", re.I
)
FILES = re.compile(r"file=([a-z0-9-]+\.(?:svg|png|csv|json|tex))")


def signed_in(role=None, workspace=None):
    client = Client()
    client.force_login(make_user(role, workspace))
    return client


def text_of(page):
    """The page's words without tags, a figure's included."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


def answer_of(page):
    return html.unescape(re.search(r'<p class="answer">(.*?)</p>', page, re.DOTALL)[1])


def never_nan(page):
    assert not {"nan", "NaN", "None", "inf"}.intersection(re.split(r"[^\w%]+", text_of(page)))
    assert "%%" not in text_of(page)


def sentences_of(page):
    """The sentences of a page's paragraphs, list items and captions, without tables, figures, menus and the method."""
    page = re.sub(r'<details class="fold fold-method">.*?</details>', "", page, flags=re.DOTALL)
    page = re.sub(r"<(svg|script|style|nav|header|form|table)\b.*?</\1>", "", page, flags=re.DOTALL)
    parts = re.findall(r"<(p|li|figcaption|h1)\b[^>]*>(.*?)</\1>", page, re.DOTALL)
    found = [sentence.strip() for _tag, part in parts for sentence in re.split(r"(?<=[.?])\s+", text_of(part))]
    return [sentence for sentence in found if len(sentence.split()) > 2]


def claims_of(page):
    """The sentences of a page that say of an effect, an order or a difference that it is there."""
    return [said for said in sentences_of(page) if CLAIMS.search(said) and not UNCLAIMED.search(said)]


def claims_in_files(client, address):
    """The cells of a page's tables that claim an effect: p values under 0.05, and differences that are shown."""
    found = []
    for name in sorted(set(FILES.findall(markup(client.get(address))))):
        if name.endswith(".csv"):
            joint = "&" if "?" in address else "?"
            content = client.get(f"{address}{joint}file={name}").content.decode("utf-8-sig")
            head, *rows = csv.reader(io.StringIO(content))
            for row in rows:
                for column, cell in zip(head, row, strict=True):
                    tested = column == "p" or column.startswith(("p,", "p ("))
                    if (tested and cell and float(cell) < 0.05) or (column == "Shown" and cell == "yes"):
                        found.append((name, column, row))
    return found


def check_access(name, study):
    """Owners, leads and analysts see it; raters, reviewers and strangers do not; others' workspaces see nothing."""
    address = reverse(name, args=[study])
    for role in ("owner", "lead", "analyst"):
        for headers in ({}, HTMX):
            response = signed_in(role, study.workspace).get(address, **headers)
            assert response.status_code == 200
            assert "HX-Request" in response["Vary"]
            assert (b"<html" in response.content) is (headers == {})
    for role in ("rater", "reviewer", None):
        assert signed_in(role, study.workspace).get(address).status_code == 403
    anonymous = Client().get(address)
    assert anonymous.status_code == 302 and anonymous["Location"].startswith(reverse("accounts:sign_in"))
    assert signed_in("owner", make_workspace("other-lab")).get(address).status_code == 404
    assert signed_in("lead", study.workspace).post(address).status_code == 405


def check_files(client, address):
    """Every file that the page offers is there and is what it says; returns the names."""
    page = markup(client.get(address))
    never_nan(page)
    names = sorted(set(FILES.findall(page)))
    joint = "&" if "?" in address else "?"
    for name in names:
        response = client.get(f"{address}{joint}file={name}")
        assert response.status_code == 200, name
        assert name in response["Content-Disposition"] or name.split(".")[0] in response["Content-Disposition"]
        content = response.content
        if name.endswith(".svg"):
            assert content.startswith(b"<svg") and b"<title>" in content and b"<desc>" in content
        elif name.endswith(".png"):
            assert content.startswith(b"\x89PNG")
        elif name.endswith(".json"):
            assert json.loads(content)
        elif name.endswith(".tex"):
            assert b"\\begin{tabular}" in content
        else:
            rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
            assert len({len(row) for row in rows}) == 1
            assert "nan" not in {cell.lower() for row in rows for cell in row}
    assert client.get(f"{address}{joint}file=no-such.csv").status_code == 404
    return names


def load(kind, path, study, *more, **columns):
    """A table of shared data read by load_table, without a word."""
    named = [piece for name, column in columns.items() for piece in ("--column", f"{name}={column}")]
    silent = {"stdout": io.StringIO(), "stderr": io.StringIO()}
    call_command("load_table", kind, str(path), "--study", study, *more, *named, **silent)
