"""Responses in which a model names itself are found, flagged, masked or dropped."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from hypothesis import given, strategies as st

from annotation.assignment.new_slots import make_seats
from annotation.masking.scan import SELF_NAMING, scan_study
from annotation.models import Assignment, Flag, Study, Task
from annotation.rules.self_naming import find_self_naming, mask_self_naming
from annotation.studies.life_cycle import create_study
from generation.models import Response
from tests.factories import make_checklist_study, make_rater, make_user
from tests.markup import markup


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
    assert "1 responses in 3 tasks name their model; 1 are newly flagged." in out
    with pytest.raises(CommandError, match="has no study 'nothing'"):
        call_command("scan_self_naming", "nothing")


def test_masked_names_are_not_sent_and_offsets_hold(study, client):
    call_command("scan_self_naming", study.slug, "--mask")
    client.force_login(make_user("rater", study.workspace))
    sent = b""
    for _task in range(3):
        response = client.post(reverse("annotation:start", args=[study]))
        sent += client.get(response["Location"]).content
        client.post(
            response["Location"],
            {
                "c-item0": "1",
                "c-item1": "1",
                "c-item2": "1",
                "c-overall": "3",
                "e-item0": '[{"pane": "a", "start": 2, "end": 6}]',
            },
        )
    assert b"Claude" not in sent
    assert "██████".encode() in sent
    assert "I am Claude" in Response.objects.get(text__contains="Claude").text
    scores = [a.scores.get(criterion__key="item0") for a in Assignment.objects.all()]
    assert all(score.evidence for score in scores)
    call_command("scan_self_naming", study.slug, "--unmask")
    assert "mask_self_naming" not in Study.objects.get(pk=study.pk).policies


def test_dropping_leaves_tasks_that_were_begun(study, capsys):
    task = study.tasks.order_by("pk")[0]
    assignment = Assignment.objects.create(task=task, rater=make_rater(study))
    call_command("scan_self_naming", study.slug, "--drop")
    assert "0 tasks dropped; 1 stay" in capsys.readouterr().out
    assert study.tasks.count() == 3
    assignment.delete()
    call_command("scan_self_naming", study.slug, "--drop")
    assert "1 tasks dropped; 0 stay" in capsys.readouterr().out
    assert not task.seats.exists()
    assert study.seats.count() == 2


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


@pytest.fixture
def draft(study, lead):
    return create_study(
        workspace=study.workspace, names={"en": "Draft"}, kind="checklist", benchmark=study.benchmark, by=lead
    )


def change(client, study, do, **more):
    return client.post(reverse("annotation:change_self_naming", args=[study]), {"do": do, **more})


def launch(client, study):
    client.post(reverse("annotation:launch", args=[study]))
    study.refresh_from_db()
    return study.status


@pytest.mark.parametrize(("choice", "tasks"), [("mask", 3), ("keep", 3), ("drop-all", 2)])
def test_a_study_opens_once_it_is_decided_what_becomes_of_such_responses(client, draft, lead, choice, tasks):
    client.force_login(lead)
    assert launch(client, draft) == "draft"
    page = markup(client.get(reverse("annotation:setup", args=[draft])))
    assert "in 1 task a response says which model wrote it" in page
    assert reverse("annotation:self_naming", args=[draft]) in page
    change(client, draft, choice)
    assert launch(client, draft) == "open"
    assert (draft.tasks.count(), draft.seats.values("task").distinct().count()) == (tasks, tasks)


def test_a_draft_is_looked_through_before_its_launch(client, draft, lead):
    client.force_login(lead)
    address = reverse("annotation:self_naming", args=[draft])
    assert "have not been scanned yet" in markup(client.get(address))
    change(client, draft, "scan")
    assert "<mark>Claude</mark>" in markup(client.get(address))
    assert launch(client, draft) == "draft"


def test_the_desk_says_so_until_it_is_decided(client, study, lead):
    scan_study(study)
    client.force_login(lead)
    desk = reverse("annotation:desk", args=[study])
    assert "1 task with a self-revealing response" in markup(client.get(desk))
    change(client, study, "keep")
    assert "names its model" not in markup(client.get(desk))


def test_every_finding_is_reached_by_pages(client, study, lead):
    Response.objects.update(text="I am Claude, and glad of it.")
    task = study.tasks.first()
    for number in range(120):
        Task.objects.create(
            study=study, kind="single", key=f"x{number}", response_a=task.response_a, answer_rubric=task.answer_rubric
        )
    scan_study(study)
    client.force_login(lead)
    address = reverse("annotation:self_naming", args=[study])
    seen = [markup(client.get(address, {"page": page})).count("<mark>") for page in (1, 2, 3)]
    assert seen == [50, 50, 23]


def test_a_text_that_was_mended_is_found_no_more(study):
    scan_study(study)
    Response.objects.update(text="Nothing of the kind.")
    assert scan_study(study).found == ()
    assert not Flag.objects.exists()


def test_a_table_of_ratings_is_looked_through_when_it_is_loaded(study, tmp_path, capsys):
    file = tmp_path / "ratings.csv"
    rows = [f"essays-{n},model0,ann,item0,0.5" for n in range(3)]
    file.write_text("\n".join(["item,model,rater,criterion,value", *rows]))
    call_command(
        "load_table",
        "ratings",
        str(file),
        study="rated",
        benchmark=study.benchmark.slug,
        column=[f"{name}={name}" for name in ("item", "model", "rater", "criterion", "value")],
    )
    assert "Tasks with a response that says which model wrote it: 1." in capsys.readouterr().err
    assert Flag.objects.get(task__study__slug="rated").kind == SELF_NAMING


def test_seats_made_later_leave_dropped_tasks_out(client, study, lead):
    client.force_login(lead)
    scan_study(study)
    change(client, study, "drop-all")
    study.refresh_from_db()
    assert make_seats(study) == 0
    assert study.seats.count() == 2
