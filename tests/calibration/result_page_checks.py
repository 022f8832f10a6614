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
