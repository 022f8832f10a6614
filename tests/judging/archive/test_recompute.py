"""Every kind of report a study's pages show comes out of its export to the last digit, and a changed digit is found."""

import json
import zipfile
from math import inf, nextafter

import pytest

from annotation.models import Cohort, Rater
from calibration.fits.store import run_fit
from calibration.reports.agreement import agreement_report
from calibration.reports.agreement_detail import AGREEMENT_DETAIL, detail_settings
from calibration.reports.judges import JUDGES, judges_settings
from calibration.reports.rankings import RANKINGS, ranking_settings
from calibration.reports.raters import RATERS, rater_settings
from calibration.reports.registry import report_of
from calibration.reports.weights import WEIGHTS, depth_settings
from generation.models import Category, Instruction, LanguageModel
from judging.archive.export import export_study
from judging.archive.recompute import recompute
from judging.comparison.judge_against_people import compare, judges_in, weighting_for
from judging.comparison.method_table import METHODS, method_settings
from judging.judges.families import judge_families
from tests.calibration.answered_studies import answered_study
from tests.calibration.pair_studies import pair_study
from tests.calibration.web.test_judge_blocks import reviewed
from tests.factories import make_answer, make_judge_rater

pytestmark = pytest.mark.django_db


def essays():
    """A checklist study of two categories and two cohorts, two judges whose names and ids sort differently."""
    study = answered_study(instructions=22, judge="gpt-4o")
    second = Category.objects.create(benchmark=study.benchmark, key="letter", names={"en": "Letter"})
    half = list(Instruction.objects.filter(benchmark=study.benchmark).values_list("pk", flat=True)[:11])
    Instruction.objects.filter(pk__in=half).update(category=second)
    for kind in ("onsite", "crowd"):
        cohort = Cohort.objects.create(study=study, name=kind, kind=kind)
        label = {"onsite": "rater-0", "crowd": "rater-1"}[kind]
        Rater.objects.filter(study=study, label=label).update(cohort=cohort)
    for name in ("a-judge", "z-judge"):
        judge = make_judge_rater(study.workspace, name)
        for place, task in enumerate(study.tasks.order_by("pk")):
            make_answer(task, judge, {f"item{n}": (place + n) % 5 / 4 for n in range(4)} | {"overall": place % 9})
    Rater.objects.filter(label="a-judge").update(public_id="zz" + "0" * 10)
    return study


def duels():
    """Pairs answered from recorded sides, judged in both orders by a judge of a known family."""
    study = pair_study(models=3, instructions=21, position=1.0)
    judge = make_judge_rater(study.workspace)
    LanguageModel.objects.create(workspace=study.workspace, name="gpt-4o", family="gpt")
    LanguageModel.objects.filter(name="model1").update(family="gpt")
    for place, task in enumerate(study.tasks.order_by("pk")):
        make_answer(task, judge, {"preference": place % 3 - 1}, shown_first="a")
        make_answer(task, judge, {"preference": place % 2}, shown_first="b", repeat=1)
    return study


def make_judges(study):
    report_of(study, JUDGES, judges_settings(study, families=judge_families(study)))


def make_comparisons(study):
    for judge in judges_in(study):
        compare(study, judge, weighting_for(study))


def make_depth(study):
    run_fit(study=study, draws=0)
    report_of(study, WEIGHTS, depth_settings(study))


def make_scores(study):
    make_depth(study)
    agreement_report(study)
    report_of(study, AGREEMENT_DETAIL, detail_settings())
    report_of(study, METHODS, method_settings())
    make_comparisons(study)
    make_pairs(study)


def make_pairs(study):
    report_of(study, RATERS, rater_settings())
    report_of(study, RANKINGS, ranking_settings())
    report_of(study, METHODS, method_settings())
    make_judges(study)


PAIRS = {"raters", "rankings", "judging methods", "judges in depth"}
STUDIES = {
    "scores": (
        essays,
        make_scores,
        PAIRS | {"agreement", "agreement by group", "weights in depth", "judge against people"},
    ),
    "pairs": (duels, make_pairs, PAIRS),
    "judges whose verdicts were reviewed": (
        lambda: reviewed([lambda place: (1, place % 2)])[0],
        make_judges,
        {"judges in depth"},
    ),
    "reviews": (lambda: reviewed([lambda place: (1, place % 3 == 0)])[1], make_judges, {"judges in depth"}),
}


def numbers(value, place=()):
    """Places of every number with digits after the point."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from numbers(one, (*place, name))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from numbers(one, (*place, index))
    elif isinstance(value, float):
        yield place


def nudged(value, place):
    """The value with the number there changed in its last digit."""
    if not place:
        return nextafter(value, inf)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = nudged(copy[place[0]], place[1:])
    return copy


@pytest.mark.parametrize("which", STUDIES)
def test_every_kind_comes_out_the_same_and_a_changed_last_digit_is_found(which, tmp_path):
    make_study, make, kinds = STUDIES[which]
    study = make_study()
    make(study)
    path, changed = tmp_path / "study.zip", tmp_path / "changed.zip"
    export_study(study, path)
    found = recompute(path)
    assert found.same, [(one.kind, one.differences) for one in found.results if not one.same]
    reports = [one for one in found.results if one.kind != "fit"]
    assert {one.kind for one in reports} >= kinds and all(one.values > 5 for one in reports)
    places = change_reports(path, changed)
    again = [one for one in recompute(changed).results if one.kind != "fit"]
    for one, (kind, place) in zip(again, places, strict=True):
        assert one.kind == kind and not one.same and len(one.differences) == 1, (kind, one.differences)
        assert one.differences[0].startswith("/" + "/".join(map(str, place)) + ": ")


def change_reports(path, changed):
    """A copy in which every report has one number, in its middle, changed in the last digit; kinds and places."""
    places = []
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "reports.jsonl":
                rows = [json.loads(line) for line in content.splitlines()]
                for row in rows:
                    known = list(numbers(row["result"]))
                    places.append((row["kind"], known[len(known) // 2]))
                    row["result"] = nudged(row["result"], places[-1][1])
                content = "\n".join(json.dumps(row) for row in rows).encode()
            new.writestr(name, content)
    return places
