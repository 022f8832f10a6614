"""Every method note leads to the code that computed the number, and to nothing else of the server's."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from calibration.fits.store import run_fit
from calibration.web.former_methods import FORMER
from calibration.web.method_source import FILES, PACKAGES, method_source, shown
from tests.calibration.answered_studies import answered_study
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import signed_in, text_of
from tests.factories import make_answer, make_judge_rater
from tests.markup import markup

ROOT = Path(__file__).resolve().parents[3]
LINK = re.compile(r'href="(/method/[^"]+)"')
PAGES = [
    "calibration:weights",
    "calibration:weights_depth",
    "calibration:planner",
    "calibration:raters",
    "calibration:rankings",
    "calibration:agreement",
    "calibration:agreement_detail",
    "judging:judges",
    "judging:judges_depth",
    "judging:judges_methods",
    "judging:judges_metrics",
]


def address(module):
    return reverse("calibration:method", args=[module])


@pytest.mark.django_db
class TestPage:
    def test_only_those_who_read_results_see_it(self):
        place = address("calibration.statistics.agreement.alpha")
        assert signed_in("analyst").get(place).status_code == 200
        assert signed_in("rater").get(place).status_code == 403
        assert Client().get(place).status_code == 302
        assert signed_in("lead").post(place).status_code == 405

    @pytest.mark.parametrize(
        "name",
        [
            "config.settings",
            "calibration.models",
            "..secrets",
            "calibration",
            "os",
            "calibration.statistics.agreement.alpha.py",
        ],
    )
    def test_nothing_else_is_shown(self, name):
        assert signed_in("lead").get(f"/method/{name}/").status_code == 404

    def test_it_shows_what_a_function_says_and_does(self):
        page = markup(signed_in("lead").get(address("calibration.statistics.agreement.alpha")))
        assert 'id="krippendorff_alpha"' in page and "def krippendorff_alpha(" in page
        assert "Krippendorff" in text_of(page)
        # Where it builds on another file, that one is a click away.
        assert f'href="{address("calibration.statistics.resampling")}"' in page

    def test_it_speaks_both_languages(self):
        client = signed_in("lead")
        client.cookies["django_language"] = "zh-hans"
        with translation.override("zh-hans"):
            page = markup(client.get(address("calibration.statistics.agreement.alpha"), HTTP_ACCEPT_LANGUAGE="zh-hans"))
        assert 'lang="en"' in page

    @pytest.mark.parametrize("pairs", [False, True])
    def test_every_page_links_to_the_code_behind_it(self, pairs):
        study = pair_study(models=2, instructions=3) if pairs else answered_study(judge="gpt-4o")
        if pairs:
            judge = make_judge_rater(study.workspace)
            for task in study.tasks.all():
                make_answer(task, judge, {"preference": 1}, shown_first="a")
        else:
            run_fit(study=study, draws=0)
        client = signed_in("lead", study.workspace)
        for name in PAGES:
            page = markup(client.get(reverse(name, args=[study])))
            links = set(LINK.findall(page))
            # Without a fit there are no weights, and so no method of theirs.
            assert links or (pairs and "weights" in name), name
            assert all(client.get(link).status_code == 200 for link in links)


def test_only_mathematics_is_shown():
    """What is shown is held by the contract that keeps the framework and the rows out of it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    kept = {name for one in contracts if one["type"] == "forbidden" for name in one["source_modules"]}
    assert {one.rpartition(".")[0] for one in FILES} | set(PACKAGES) <= kept | {"judging.methods.pairs"}
    assert "judging.methods" in kept


@pytest.mark.django_db
def test_former_addresses_lead_to_the_present_ones():
    client = signed_in("lead")
    assert len(FORMER) == 53 and not set(FORMER) & shown()
    for old, new in FORMER.items():
        answer = client.get(f"/method/{old}/")
        assert (answer.status_code, answer["Location"]) == (301, address(new))
        assert client.get(answer["Location"]).status_code == 200


def test_every_file_that_a_page_names_is_shown():
    """A page says `code=[...]` and a template names the address: each must be one that the address knows."""
    named = set()
    for app in ("calibration", "judging", "generation", "annotation"):
        for file in (ROOT / app).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.List):
                    named |= {one.value for one in node.value.elts if isinstance(one, ast.Constant)}
    for file in (ROOT / "templates").rglob("*.html"):
        named |= set(re.findall(r"'calibration:method' '([\w.]+)'", file.read_text(encoding="utf-8")))
    assert len(named) > 20 and named <= shown()


@pytest.mark.parametrize("module", sorted(shown()))
def test_no_line_of_a_file_is_lost(module):
    found = method_source(module)
    text = ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text()
    on_page = "\n".join([found.about, *(part.source for part in found.parts)])
    missing = [line for line in text.splitlines() if line.strip() and line.strip(' "') not in on_page]
    assert missing == []
