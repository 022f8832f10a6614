"""Responses in which a model names itself are found, flagged, masked or dropped."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotation.handout import make_seats
from annotation.models import Assignment, Flag, Study
from annotation.self_naming import find_self_naming, mask_self_naming
from annotation.self_naming_scan import SELF_NAMING, scan_study
from generation.models import Response
from tests.factories import make_checklist_study, make_rater, make_user


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello! I am Claude, an assistant.", ["Claude"]),
        ("I'm ChatGPT, trained by OpenAI, and I cannot.", ["ChatGPT", "OpenAI"]),
        ("As an AI developed by Google DeepMind I will try.", ["Google DeepMind"]),
        ("As Qwen2.5-72B, I think so.", ["Qwen2.5-72B"]),
        ("我是通义千问，由阿里云开发。", ["通义千问", "阿里云"]),
        ("作为文心一言，我认为如此。", ["文心一言"]),
        ("My name is Zephyr and I write poems.", ["Zephyr"]),
    ],
)
def test_statements_of_oneself_are_found(text, words):
    assert [mention.words for mention in find_self_naming(text, ["lab/Zephyr-7B-beta"])] == words


@pytest.mark.parametrize(
    "text",
    [
        "Claude Monet painted water lilies.",
        "The bridge was built by Microsoft in a week, said the paper.",
        "ChatGPT changed how schools set homework.",
        "Zephyr is the west wind.",
        "The gemini constellation is seen in winter.",
    ],
)
def test_texts_about_other_things_are_left_alone(text):
    assert find_self_naming(text, ["Zephyr-7B", "X"]) == []


@given(st.text(alphabet="I am GPT-4 由OpenAI开发。.🌳\n", max_size=80))
def test_masking_keeps_every_offset(text):
    masked = mask_self_naming(text)
    assert len(masked) == len(text)
    found = find_self_naming(text)
    for mention in found:
        assert set(masked[mention.start : mention.end]) == {"█"}
    outside = [i for i in range(len(text)) if not any(m.start <= i < m.end for m in found)]
    assert all(masked[i] == text[i] for i in outside)


@pytest.fixture
def study(db):
    study = make_checklist_study(instructions=3, models=1)
    first = study.tasks.order_by("pk")[0].response_a
    first.text = "Of course. I am Claude, and here are **some words** about it."
    first.save()
    make_seats(study)
    return study


def test_a_scan_flags_each_task_once(study):
    result = scan_study(study)
    assert (result.tasks, len(result.found), result.flagged) == (3, 1, 1)
    flag = Flag.objects.get()
    assert (flag.kind, flag.rater, flag.resolved_at) == (SELF_NAMING, None, None)
    assert "I am Claude" in flag.text
    assert scan_study(study).flagged == 0


def test_the_command_says_what_it_found(study, capsys):
    call_command("scan_self_naming", study.slug)
    out = capsys.readouterr().out
    assert "essays-0: Of course. I am Claude" in out
    assert "1 responses in 3 tasks name their model; 1 newly flagged." in out
    with pytest.raises(CommandError, match="has no study 'nothing'"):
        call_command("scan_self_naming", "nothing")


def test_masked_names_are_not_sent_and_offsets_hold(study, client):
    call_command("scan_self_naming", study.slug, "--mask")
    client.force_login(make_user("rater", study.workspace))
    sent = b""
    for _task in range(3):
        response = client.post(reverse("annotation:start", args=[study.slug]))
        sent += client.get(response["Location"]).content
        client.post(
            response["Location"],
            {"c-item0": "1", "c-item1": "1", "c-item2": "1", "c-overall": "3",
             "e-item0": '[{"pane": "a", "start": 2, "end": 6}]'},
        )  # fmt: skip
    assert b"Claude" not in sent
    assert "██████".encode() in sent
    assert "I am Claude" in Response.objects.get(text__contains="Claude").text
    scores = [a.scores.get(criterion__key="item0") for a in Assignment.objects.all()]
    assert all(score.evidence for score in scores)
    call_command("scan_self_naming", study.slug, "--unmask")
    assert Study.objects.get(pk=study.pk).policies["mask_self_naming"] is False


def test_dropping_leaves_tasks_that_were_begun(study, capsys):
    task = study.tasks.order_by("pk")[0]
    assignment = Assignment.objects.create(task=task, rater=make_rater(study))
    call_command("scan_self_naming", study.slug, "--drop")
    assert "0 tasks dropped; 1 stay" in capsys.readouterr().out
    assert study.tasks.count() == 3
    assignment.delete()
    call_command("scan_self_naming", study.slug, "--drop")
    assert "1 tasks dropped; 0 stay" in capsys.readouterr().out
    assert study.tasks.count() == 2
