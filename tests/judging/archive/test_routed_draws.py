"""Routed draws in an archive: with the study that people rated, so that their means are the same once it is loaded."""

import json
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.utils import timezone

from annotation.importing.undo import undo_import
from annotation.models import Seat, Study
from generation.models import Import
from judging.archive.importing import import_archive
from judging.archive.recompute import recompute
from judging.comparison.routing.draws import freeze_draw, make_tasks
from judging.models import RoutedDraw
from tests.judging.archive.test_importing import emptied, exported
from tests.judging.comparison.test_routing import asked, judged_by_two, rate

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def estimated(study):
    """What the command states of the study's draws."""
    cache.clear()
    out = StringIO()
    call_command("review", study.slug, estimate=True, json=True, stdout=out)
    return json.loads(out.getvalue())


def test_the_means_of_a_draw_are_the_same_after_an_archive_is_loaded(tmp_path):
    study = judged_by_two()
    made = freeze_draw(asked(study, seed=3))
    rated_in = make_tasks(made, by=None)
    rate(rated_in, raters=2)
    before, free = estimated(study), Seat.objects.count()
    assert before["batches"][0]["state"] == "complete" and before["groups"][0]["means"] and free
    path = exported(study, tmp_path)
    assert recompute(path).same

    workspace, lead = emptied()
    loaded = import_archive(path, workspace, lead)
    again = Study.objects.get(slug=study.slug)
    assert RoutedDraw.objects.get().rated_in == Study.objects.get(slug=rated_in.slug) and loaded.study == study.slug
    assert estimated(again) == before and Seat.objects.count() == free
    undo_import(Import.objects.get(pk=loaded.imported), by=lead, clock=timezone.now)
    assert not Study.objects.exists() and not RoutedDraw.objects.exists()


def test_a_draw_without_tasks_and_the_study_of_a_draw_alone_are_loaded_too(tmp_path):
    study = judged_by_two()
    freeze_draw(asked(study, seed=3))
    before = estimated(study)
    assert before["batches"][0]["state"] == "not_made"
    path = exported(study, tmp_path)
    workspace, lead = emptied()
    import_archive(path, workspace, lead)
    again = Study.objects.get()
    assert estimated(again) == before

    rated_in = make_tasks(RoutedDraw.objects.get(), by=None)
    path = exported(rated_in, tmp_path)
    workspace, lead = emptied()
    assert import_archive(path, workspace, lead).study == rated_in.slug
    assert not RoutedDraw.objects.exists() and Study.objects.get(slug=rated_in.slug).tasks.exists()
