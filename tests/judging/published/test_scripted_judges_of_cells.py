"""Which judge stands for the paper's: the authors' verdicts before a run of ours, a real judge before a scripted one."""

import csv
import io
import json

import pytest
from django.core.management import call_command

from annotation.models import Rater
from generation.models import LanguageModel
from judging.models import Judge
from judging.published.tables import by_likeness, judges_of_paper
from tests.factories import make_judge_rater, make_workspace
from tests.judging.published.test_hellobench_tables import summaries_by_two_models

pytestmark = pytest.mark.django_db
GPT = {"judge": {"names": ["gpt-4o"]}}


def printed(*words, **options):
    out = io.StringIO()
    call_command(*words, stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def raters():
    """Judges of the name gpt-4o, a scripted and a real one that were run here and the authors' verdicts; another judge."""
    space = make_workspace()
    scripted, real, other, loaded = (make_judge_rater(space, name) for name in ("gpt-4o a", "gpt-4o b", "x", "gpt-4o"))
    scripted.provenance = Rater.Provenance.SCRIPTED
    for rater, name in ((scripted, "gpt-4o"), (real, "gpt-4o"), (other, "x")):
        model, _made = LanguageModel.objects.get_or_create(workspace=space, name=name)
        Judge.objects.create(
            workspace=space, rater=rater, language_model=model, method="checklist", prompt_hash=rater.label
        )
    return scripted, real, other, loaded


def test_the_authors_verdicts_go_before_a_run_of_their_judge(raters):
    scripted, real, other, loaded = raters
    assert judges_of_paper([scripted, real, other, loaded], GPT) == [loaded]
    assert judges_of_paper([scripted, real, other], GPT) == [real]
    assert judges_of_paper([scripted, other], GPT) == [scripted]
    assert judges_of_paper([other], GPT) == []


def test_of_all_judges_the_papers_is_first_and_a_scripted_one_last(raters):
    scripted, real, other, loaded = raters
    assert by_likeness([scripted, other, loaded], GPT) == [loaded, other, scripted]
    assert by_likeness([scripted, other, real], GPT) == [real, other, scripted]


def test_figures_of_a_scripted_judge_are_labelled_in_the_terminal_and_in_files(tmp_path):
    summaries_by_two_models(tmp_path)
    assert "scripted" not in printed("published_table", "hellobench", "4", json=True)
    Rater.objects.filter(label="gpt-4o").update(provenance=Rater.Provenance.SCRIPTED)
    for options in ({}, {"markdown": True}, {"latex": True}):
        shown = " ".join(printed("published_table", "hellobench", "4", **options).split())
        assert "rest on scripted judges, whose verdicts are drawn: gpt-4o." in shown
    assert json.loads(printed("published_table", "hellobench", "4", json=True))["scripted_judges"] == ["gpt-4o"]
    cells = list(csv.DictReader(io.StringIO(printed("published_table", "hellobench", "4", csv=True))))
    assert all(cell["Recomputed"] for cell in cells if cell["Scripted judges"])
    assert {cell["Scripted judges"] for cell in cells} == {"gpt-4o", ""}


def test_a_board_of_a_scripted_judge_says_so_in_every_form(tmp_path):
    summaries_by_two_models(tmp_path)
    forms = {"json": True}, {"csv": True}, {"markdown": True}, {}
    for options in forms:
        assert "cripted" not in printed("leaderboard", "hellobench", judge="gpt-4o", **options)
    Rater.objects.filter(label="gpt-4o").update(provenance=Rater.Provenance.SCRIPTED)
    board = json.loads(printed("leaderboard", "hellobench", judge="gpt-4o", json=True))
    assert board["scripted_judges"] == ["gpt-4o"] and board["models"]
    rows = list(csv.DictReader(io.StringIO(printed("leaderboard", "hellobench", judge="gpt-4o", csv=True))))
    assert rows and {row["Scripted judges"] for row in rows} == {"gpt-4o"}
    for options in ({}, {"markdown": True}):
        shown = " ".join(printed("leaderboard", "hellobench", judge="gpt-4o", **options).split())
        assert "gpt-4o is a scripted judge; its verdicts are drawn" in shown
