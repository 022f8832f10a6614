"""axe-core finds nothing serious on any page that anybody may open, wide and light or narrow and dark, and none is too wide.

The pages are found from the addresses, so that a new page is looked at without being named here.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connections
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.views.defaults import server_error

from accounts.models import Membership, User
from annotation.models import Guideline, Rater, Rubric, Study
from generation.models import Endpoint, Instruction, LanguageModel, Response
from judging.demonstration import BENCHMARK, PASSWORD, SLUG
from judging.models import Judge, JudgeRun
from tests.e2e.rating_pages import SIZES, fits, settle
from tests.e2e.serial import turn
from tests.e2e.test_accessibility import axe, violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
__all__ = ["axe"]
NOT_OURS = ("admin", "api")
SHAPES = (("desktop", "light"), ("phone", "dark"))


def named_routes(patterns=None, namespace=""):
    """(full name, names of its parts) of every address of ours."""
    for one in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(one, URLResolver):
            if one.namespace not in NOT_OURS:
                yield from named_routes(one.url_patterns, f"{one.namespace}:" if one.namespace else namespace)
        elif isinstance(one, URLPattern) and one.name:
            yield namespace + one.name, tuple(one.pattern.regex.groupindex)


def parts_of(name):
    """What stands in the address of a route; None for routes that need what the demonstration does not have."""
    study = Study.objects.get(slug=SLUG)
    slug = BENCHMARK if name in OF_BENCHMARKS else study.workspace.slug if name in OF_WORKSPACES else SLUG
    return {
        "slug": slug,
        "study_id": study.public_id,
        "number": 1,
        "module": "calibration.alpha",
        "task_id": study.tasks.first().public_id,
        "rater_id": Rater.objects.filter(kind="person").first().public_id,
        "public_id": PUBLIC.get(name, lambda: None)(),
        "pk": ROWS.get(name, lambda: None)(),
    }


OF_BENCHMARKS = {
    "generation:benchmark", "generation:start_run", "judging:leaderboard", "judging:compare_models", "judging:compare_item",
}  # fmt: skip
OF_WORKSPACES = {"accounts:people"}
PUBLIC = {
    "generation:instruction": lambda: Instruction.objects.filter(benchmark__slug=BENCHMARK).first().public_id,
    "generation:response": lambda: Response.objects.first().public_id,
    "judging:judge": lambda: Judge.objects.first().rater.public_id,
    "judging:run": lambda: JudgeRun.objects.first().public_id,
}
ROWS = {
    "generation:edit_model": lambda: LanguageModel.objects.first().pk,
    "generation:edit_endpoint": lambda: Endpoint.objects.first().pk,
    "library:rubric": lambda: Rubric.objects.first().pk,
    "library:guideline": lambda: Guideline.objects.first().pk,
}


def pages_for(username):
    """The addresses that are whole pages for somebody, each with what it shows."""
    client = Client()
    client.login(username=username, password=PASSWORD)
    found = {}
    for name, wanted in named_routes():
        parts = parts_of(name)
        if name == "accounts:sign_in" or any(parts.get(part) is None for part in wanted):
            continue
        address = reverse(name, kwargs={part: parts[part] for part in wanted})
        reply = client.get(address)
        html = reply.get("Content-Type", "").startswith("text/html") and not reply.streaming
        if reply.status_code == 200 and html and b"<html" in reply.content:
            content = reply.content.partition(b"<main")[2]
            found[address] = re.sub(rb'name="csrfmiddlewaretoken" value="[^"]+"', b"", content)
    return found


def make_demonstration():
    call_command("demo", "--no-serve", stdout=StringIO())
    lead = User.objects.get(username="lead")
    workspace = Membership.objects.filter(user=lead).first().workspace
    analyst = User.objects.create_user("ana", password=PASSWORD)
    Membership.objects.create(workspace=workspace, user=analyst, role="analyst")
    connections.close_all()


@pytest.fixture
def demonstration():
    """In a thread of its own: the judge's calls have a loop, and Playwright's has this one."""
    with turn, ThreadPoolExecutor(1) as thread:
        thread.submit(make_demonstration).result()


def sign_in_as(page, username):
    page.fill("#id_username", username)
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(lambda url: "sign-in" not in url)


def wrong_on(page, address, axe, shapes):
    """What axe finds in each size and theme, and whether the page is wider than its window."""
    page.set_viewport_size(SIZES["desktop"])
    page.emulate_media(color_scheme="light")
    page.goto(address)
    for size, theme in shapes:
        page.set_viewport_size(SIZES[size])
        page.emulate_media(color_scheme=theme)
        settle(page)
        yield from violations(page, axe)
        if not fits(page):
            yield f"wider than the window: {size}"


def weight_of(page, address):
    """Bytes of styles and scripts that a page loads, before compression."""
    page.goto(address)
    return page.evaluate(
        """() => performance.getEntriesByType("resource")
            .filter(one => ["link", "script"].includes(one.initiatorType) && /[.](css|js)$/.test(new URL(one.name).pathname))
            .reduce((sum, one) => sum + one.decodedBodySize, 0)"""
    )


def test_every_page_of_a_lead_an_analyst_and_a_rater(open_page, axe, demonstration):
    found, seen = {}, {}
    for who, at_least in (("lead", 55), ("ana", 40), ("rater", 3)):
        pages = pages_for(who)
        assert len(pages) >= at_least, pages
        page = open_page(reduced_motion="reduce")
        sign_in_as(page, who)
        new = [address for address, content in pages.items() if seen.get(address) != content]
        for address in [*new, "/studies/demo/setup/", "/nowhere/"]:
            found[who, address] = list(wrong_on(page, address, axe, SHAPES[:1] if who == "ana" else SHAPES))
        seen |= pages
        if who == "rater":
            assert all(weight_of(page, address) < 100_000 for address in new)
    assert {where: what for where, what in found.items() if what} == {}


def test_the_page_of_our_own_failures(open_page, axe):
    """Served as it is stored, since it is made without a word from the program."""
    page = open_page("phone", color_scheme="dark")
    made = server_error(RequestFactory().get("/broken/")).content.decode()
    page.route("**/broken/", lambda route: route.fulfill(status=500, body=made))
    page.goto("/broken/")
    assert violations(page, axe) == []
    assert fits(page)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 19, 21)"
