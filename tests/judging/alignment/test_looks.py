"""A version that is better is claimed, one that is not is refused, and nothing of the test part is told before a look."""

import threading
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import Event
from calibration.statistics.judges.alignment import instructions_needed
from core.errors import UserError
from judging.alignment import looks
from judging.alignment.looks import take_look
from judging.alignment.records import add_version, begin_alignment
from judging.alignment.results import alignment_report
from judging.models import Alignment, AlignmentLook, AlignmentVersion
from tests.factories import make_user
from tests.judging.alignment.studies import (
    aligned,
    change_answers,
    half,
    judge_right,
    nearly_all,
    other_half,
    rated_study,
    tasks_in,
    tasks_of,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return rated_study()


def test_a_version_that_is_better_is_claimed_by_the_first_look(study):
    found, version = aligned(study)
    before = alignment_report(found)
    assert before.instructions == {"training": 24, "validation": 24, "test": 32} and before.tasks == 80
    (row,) = before.versions
    assert row.validation.gain.value > 0.3 and row.validation.baseline.value < 0.6 and before.chosen == 0
    assert before.baseline.validation.gain.value == 0 and (before.next_look, before.next_level) == (1, 0.025)
    lead = make_user("lead", study.workspace)
    look = take_look(version, by=lead)
    assert (look.number, look.level, look.claim, look.taken_by) == (1, 0.025, "better", lead)
    (seen,) = (one.look for one in alignment_report(found).versions)
    assert seen.claim == "better" and seen.found.gain.low > 0 and seen.found.gain.p < 0.025 and seen.found.n == 32
    assert Event.objects.get(verb="test part looked at").after["claim"] == "better"


def test_versions_that_are_no_better_are_not_shown_and_each_look_has_half_the_level(study):
    found, first = aligned(study, other_half)
    second = add_version(found, judge_right(study, lambda number: number % 4 in (0, 3)))
    seen = [take_look(first), take_look(second)]
    assert [(look.number, look.level, look.claim) for look in seen] == [
        (1, 0.025, "not_shown"),
        (2, 0.0125, "not_shown"),
    ]
    report = alignment_report(found)
    assert report.next_look == 3 and report.next_level == 0.00625
    # The interval of the second look is wider than one of 97.5 % would be, and holds 0 as the first does.
    assert all(look.found.gain.low < 0 < look.found.gain.high for _row, look in report.looks)


def test_a_version_is_measured_once_and_only_with_all_its_verdicts(study):
    found, version = aligned(study)
    take_look(version)
    with pytest.raises(UserError, match="by look 1; a version has one look"):
        take_look(version)
    lacking = add_version(found, judge_right(study, nearly_all, name="slow", without=range(70, 80)))
    with pytest.raises(UserError, match="slow has no verdict yet on 10 of the 80 tasks"):
        take_look(lacking)
    with pytest.raises(UserError, match=r"This would be look 2, tested at the level 0\.0125"):
        take_look(add_version(found, judge_right(study, half)), confirmed=1)
    assert found.looks.count() == 1


def test_a_look_needs_twenty_instructions_that_both_answered_in_a_usable_way(study):
    found, version = aligned(study)
    for task in tasks_in(found, "test")[:13]:
        task.assignments.filter(rater=version.judge.rater).update(status="unscored")
    with pytest.raises(UserError, match="on 19 of its instructions; at least 20 are needed"):
        take_look(version)
    assert not AlignmentLook.objects.exists()


def test_looks_at_once_get_different_numbers(study, monkeypatch):
    found, first = aligned(study, other_half)
    second = add_version(found, judge_right(study, nearly_all))
    asked = looks.next_look
    numbers = []

    def stale(alignment):
        if not numbers:
            numbers.append(asked(alignment))
            monkeypatch.setattr(looks, "next_look", asked)
            assert take_look(first).number == 1
            return numbers[0]
        return asked(alignment)

    monkeypatch.setattr(looks, "next_look", stale)
    look = take_look(second)
    assert (look.number, look.level) == (2, 0.0125) and found.looks.count() == 2


def test_looks_cannot_be_changed_or_removed(study):
    _found, version = aligned(study)
    look = take_look(version)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        look.delete()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        AlignmentLook.objects.update(claim="worse")


def everything_told(client, found):
    """All that pages, files, the API and the command say of an alignment, but for tokens of forms."""
    study = found.study
    page = reverse("judging:alignment", args=[found.public_id])
    version = found.versions.get().judge.rater.public_id
    told = []
    for address in (
        page,
        f"{page}?file=page.json",
        f"{page}?file=agreement.csv",
        f"{page}?file=agreement.svg",
        f"{page}?file=parts.json",
        reverse("judging:new_alignment", args=[study]),
        reverse("judging:propose_prompt", args=[found.public_id]),
        reverse("judging:take_look", args=[found.public_id, version]),
    ):
        answer = client.get(address)
        assert answer.status_code == 200
        told.append("".join(line for line in answer.content.decode().splitlines(keepends=True) if "csrf" not in line))
    lead = study.workspace.memberships.filter(role="lead").first().user
    _token, secret = issue_token(user=lead, name="script", scopes=["read"])
    head = {"headers": {"Authorization": f"Bearer {secret}"}}
    for path in (f"/api/v1/alignments/{found.public_id}/", f"/api/v1/w/lab/studies/{study.slug}/alignments/"):
        told.append(client.get(path, **head).content.decode())
    for shape in ({"json": True}, {"csv": True}, {"latex": True}, {"markdown": True}, {}):
        out = StringIO()
        call_command("align", study.slug, stdout=out, **shape)
        told.append(out.getvalue())
    return told


def test_nothing_of_the_test_part_is_told_before_a_look(client, study):
    """Whatever people and judges answer on the test part, everything told is the same to the letter."""
    found, version = aligned(study)
    client.force_login(make_user("lead", study.workspace))
    before = everything_told(client, found)
    test = tasks_in(found, "test")
    raters = {answer.rater for task in test for answer in task.assignments.select_related("rater")}
    change_answers(version.judge.rater, test, 0.25)
    for rater in raters - {version.judge.rater, found.baseline.rater}:
        change_answers(rater, test[:10], 0.75)
    assert everything_told(client, found) == before
    # The comparison sees a change where there is one to see.
    change_answers(version.judge.rater, tasks_in(found, "validation"), 0.25)
    after = everything_told(client, found)
    assert [one != other for one, other in zip(before, after, strict=True)].count(True) >= 8


def test_too_few_instructions_are_refused_with_the_number_needed(study):
    judge = judge_right(study, half)
    assert instructions_needed() == 65
    small = rated_study(instructions=64, slug="small")
    with pytest.raises(UserError, match="is 64; it must be at least 65"):
        begin_alignment(small, judge)
    alone = rated_study(instructions=70, raters=1, slug="alone")
    with pytest.raises(UserError, match="is 0; it must be at least 65"):
        begin_alignment(alone, judge)
    with pytest.raises(UserError, match="does not answer the criterion overall; choose one of: item0"):
        begin_alignment(study, judge, criterion="overall")
    for shares in ((0.5, 0.5, 0.5), (0.01, 0.49, 0.5), (float("nan"), 0.5, 0.5), (0.5, 0.5)):
        with pytest.raises(UserError, match="three shares that add up to 1"):
            begin_alignment(study, judge, shares=shares)
    with pytest.raises(UserError, match="seed must be a whole number"):
        begin_alignment(study, judge, seed=-1)
    assert not Alignment.objects.exists()


def test_new_labels_make_a_new_part(study):
    found, version = aligned(study)
    used = {pk for part in found.parts.values() for pk in part}
    take_look(version)
    with pytest.raises(UserError, match="that no earlier alignment has used, is 0; it must"):
        begin_alignment(study, found.baseline, seed=5)
    assert Alignment.objects.count() == 1
    # Another criterion would split the same instructions; each keeps its part.
    overall = judge_right(study, half, name="other")
    type(overall).objects.filter(pk=overall.pk).update(method="overall")
    overall.refresh_from_db()
    other = begin_alignment(study, overall, criterion="overall", seed=9)
    assert other.parts == found.parts
    assert used == {task.response_a.instruction_id for task in tasks_of(study)}


def test_an_alignment_without_versions_is_replaced(study):
    judge = judge_right(study, half)
    first = begin_alignment(study, judge)
    second = begin_alignment(study, judge, seed=1)
    assert list(Alignment.objects.all()) == [second] and second.parts != first.parts
    with pytest.raises(UserError, match="was replaced by a newer one"):
        add_version(first, judge_right(study, nearly_all))
    with pytest.raises(UserError, match="is the baseline itself"):
        add_version(second, judge)
    assert not AlignmentVersion.objects.exists()


def test_a_study_goes_with_its_alignments_and_looks(study):
    from annotation.studies.deletion import delete

    _found, version = aligned(study)
    take_look(version)
    type(study).objects.filter(pk=study.pk).update(status="closed")
    study.refresh_from_db()
    delete(study, by=None)
    assert not Alignment.objects.exists() and not AlignmentLook.objects.exists()


def test_the_command_begins_adds_asks_first_and_looks(study):
    judge_right(study, half, name="baseline")
    judge_right(study, nearly_all, name="version")
    with pytest.raises(CommandError, match="has no alignment yet"):
        call_command("align", study.slug)
    call_command("align", study.slug, begin="baseline", seed=3, stdout=StringIO())
    with pytest.raises(CommandError, match="There is no judge “nobody”; there are: baseline, version"):
        call_command("align", study.slug, add="nobody")
    with pytest.raises(CommandError, match="has none yet; add it first"):
        call_command("align", study.slug, look="version", yes=True)
    call_command("align", study.slug, add="version", stdout=StringIO())
    with pytest.raises(CommandError, match=r"look 1, tested at the level 0\.025; it is counted"):
        call_command("align", study.slug, look="version")
    assert not AlignmentLook.objects.exists()
    out = StringIO()
    call_command("align", study.slug, look="version", yes=True, stdout=out)
    told = " ".join(out.getvalue().split())
    assert "version agrees more often with people than baseline does: by 0." in told and "97.5 % interval" in told


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_threads_that_look_get_two_numbers():
    study = rated_study()
    found, first = aligned(study)
    second = add_version(found, judge_right(study, other_half))
    threads = [threading.Thread(target=_look_and_close, args=[one]) for one in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found.looks.values_list("number", flat=True)) == [1, 2]


def _look_and_close(version):
    take_look(version)
    connection.close()
