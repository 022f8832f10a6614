"""The pair screen: what is stored does not depend on the order shown."""

import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, Draft, Score
from generation.models import LanguageModel
from tests.factories import make_user
from tests.markup import markup
from tests.screen_studies import make_pair_study

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
TEXTS = ("# Shade\n\nAlpha speaks of trees.\n\n# Costs\n\nThey are low.", "# Shades\n\nBeta is about water.\n\n# Other")


def opened(client, study, shown_first):
    make_seats(study)
    client.force_login(make_user("rater", study.workspace))
    client.post(reverse("annotation:start", args=[study]))
    assignment = Assignment.objects.get()
    Assignment.objects.update(shown_first=shown_first)
    assignment.shown_first = shown_first
    return assignment, reverse("annotation:rate", args=[assignment.public_id])


@pytest.fixture
def four(client):
    return opened(client, make_pair_study("four", texts=TEXTS), "a")


@pytest.mark.parametrize("size", ["three", "four", "five"])
@pytest.mark.parametrize("shown_first", ["a", "b"])
def test_every_answer_is_stored_canonically(client, size, shown_first):
    """Shown the other way round, 'A is better' speaks of the task's B; ties and both bad stay what they are."""
    study = make_pair_study(size, texts=TEXTS)
    assignment, url = opened(client, study, shown_first)
    levels = {level["key"]: level["value"] for level in assignment.task.answer_rubric.criteria.get().levels}
    turned = {"a": "b", "b": "a", "a_much": "b_much", "b_much": "a_much"} if shown_first == "b" else {}
    for key in levels:
        assert client.post(url, {"c-preference": key}, headers=HTMX).status_code == 200
        score = assignment.scores.order_by("-revision").first()
        assert (score.level, score.value) == (turned.get(key, key), levels[turned.get(key, key)])
        assert f'name="c-preference" value="{key}" checked' in markup(client.get(url))
    assert assignment.scores.count() == len(levels)


def test_both_bad_and_a_tie_are_different_answers(four, client):
    assignment, url = four
    client.post(url, {"c-preference": "tie"})
    client.post(url, {"c-preference": "both_bad"})
    client.post(url, {"c-preference": "both_bad"})
    stored = assignment.scores.order_by("revision").values_list("level", "value")
    assert list(stored) == [("tie", 0.0), ("both_bad", 0.0)]


@pytest.mark.parametrize(("shown_first", "order"), [("a", "Alpha.*Beta"), ("b", "Beta.*Alpha")])
def test_panes_stand_as_drawn_and_do_not_tell(client, shown_first, order):
    _assignment, url = opened(client, make_pair_study("four", texts=TEXTS), shown_first)
    html = markup(client.get(url))
    assert re.search(order, html, re.DOTALL)
    assert re.findall(r'class="response pane" id="pane-(.)"', html) == ["a", "b"]
    assert "shown_first" not in html
    assert html.index("Response A") < html.index("Response B")


def test_the_page_says_no_more_one_way_round_than_the_other(client):
    """With both texts alike, nothing but the texts tells which response is which."""
    study = make_pair_study("four", texts=("Same words.", "Same words."))
    _assignment, url = opened(client, study, "a")

    def page():
        html = markup(client.get(url))
        return re.sub(r'csrfmiddlewaretoken" value="[^"]*"', "", html)

    one = page()
    Assignment.objects.update(shown_first="b")
    assert page() == one


def test_letters_and_digits_choose(four, client):
    _assignment, url = four
    html = markup(client.get(url))
    found = re.findall(r'name="c-preference" value="(\w+)" data-shortcut="(\d)" data-letter="(\w)"', html)
    assert found == [("a", "1", "a"), ("tie", "2", "t"), ("b", "3", "b"), ("both_bad", "4", "d")]


def test_five_levels_have_capital_letters_for_far_better(client):
    _assignment, url = opened(client, make_pair_study("five", texts=TEXTS), "a")
    letters = re.findall(r'value="(\w+)" data-shortcut="\d" data-letter="(\w)"', markup(client.get(url)))
    assert letters == [("a_much", "A"), ("a", "a"), ("tie", "t"), ("b", "b"), ("b_much", "B")]


@pytest.mark.parametrize("shown_first", ["a", "b"])
def test_preferences_by_criterion(client, shown_first):
    assignment, url = opened(client, make_pair_study("by_criterion", texts=TEXTS), shown_first)
    given = {"content": "a_much", "structure": "b", "language": "tie", "requirements": "a", "preference": "a"}
    assert client.post(url, {f"c-{key}": "a" for key in list(given)[:3]}).status_code == 422
    client.post(url, {f"c-{key}": level for key, level in given.items()})
    sign = 1 if shown_first == "a" else -1
    stored = dict(assignment.scores.values_list("criterion__key", "value"))
    assert stored == {"content": 2 * sign, "structure": -sign, "language": 0, "requirements": sign, "preference": sign}


@pytest.mark.parametrize("shown_first", ["a", "b"])
def test_quotations_are_kept_by_the_tasks_own_letters(client, shown_first):
    assignment, url = opened(client, make_pair_study("four", texts=TEXTS), shown_first)
    evidence = [{"pane": "a", "start": 5, "end": 10}]
    if shown_first == "b":
        evidence = [{"pane": "b", "start": 5, "end": 10}]
    client.post(url, {"c-preference": "a", "e-preference": json.dumps(evidence)})
    piece = assignment.scores.get().evidence[0]
    assert piece["response"] == "a"
    assert TEXTS[0][piece["start"] : piece["end"]] == "Alpha"
    html = markup(client.get(url))
    assert json.dumps(evidence).replace('"', "&quot;") in html


def test_a_quotation_outside_the_texts_is_refused(four, client):
    assignment, url = four
    answer = {"c-preference": "a", "e-preference": '[{"pane": "a", "start": 0, "end": 9999}]'}
    response = client.post(url, answer)
    assert response.status_code == 422
    assert "Select it again" in markup(response)
    assert not assignment.scores.exists()


def test_sections_that_answer_each_other_are_joined(four, client):
    _assignment, url = four
    html = markup(client.get(url))
    assert html.count('data-section="0" data-counterpart="0"') == 2
    assert html.count('data-section="1"') == 2
    assert 'data-section="1" data-counterpart' not in html


def test_the_place_in_both_texts_is_kept_apart_from_answers(four, client):
    assignment, url = four
    draft = reverse("annotation:save_draft", args=[assignment.public_id])
    client.post(draft, {"serial": "5", "c-preference": "a", "paragraph": "1", "paragraph_b": "2"})
    client.post(draft, {"place": "1", "paragraph": "3", "paragraph_b": "4"})
    kept = Draft.objects.get()
    assert (kept.answers, kept.serial, kept.paragraph, kept.paragraph_b) == ({"c-preference": "a"}, 5, 3, 4)
    html = markup(client.get(url))
    assert re.findall(r'data-pane="(.)" data-paragraph="(\d)"', html) == [("a", "3"), ("b", "4")]
    for bad in ("-1", "x", "1234567", "²"):
        assert client.post(draft, {"place": "1", "paragraph": bad}).status_code == 400


def test_a_place_alone_makes_a_draft_without_answers(four, client):
    assignment, url = four
    client.post(reverse("annotation:save_draft", args=[assignment.public_id]), {"place": "1", "paragraph": "2"})
    assert Draft.objects.get().answers == {}
    assert "Draft restored</span>" not in markup(client.get(url))


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_near_copies_are_compared_word_by_word(client, headers):
    long = "A plain sentence about trees in the city. " * 20
    _assignment, url = opened(client, make_pair_study("four", texts=(long, long.replace("city", "town", 1))), "a")
    assert "differences/" in markup(client.get(url))
    html = markup(client.get(f"{url}differences/", headers=headers))
    assert "<del>city</del><ins>town</ins>" in html
    assert ("<html" in html) == (not headers)


def test_different_texts_offer_no_word_diff(four, client):
    _assignment, url = four
    assert "differences/" not in markup(client.get(url))
    assert client.get(f"{url}differences/").status_code == 404


def test_nothing_names_the_models_or_their_order(client):
    study = make_pair_study("four", texts=TEXTS)
    for model, name in zip(LanguageModel.objects.order_by("pk"), ("Zephyrion-70B", "Quillmaster-2"), strict=True):
        model.name = name
        model.save()
    assignment, url = opened(client, study, "b")
    sent = client.get(url).content
    sent += client.post(f"{url}hold/", headers=HTMX).content
    sent += client.post(url, {"c-preference": "a"}, headers=HTMX).content
    sent += client.get(url).content
    for secret in (b"Zephyrion", b"Quillmaster", b"shown_first", assignment.task.public_id.encode()):
        assert secret not in sent


def test_a_next_pair_costs_at_most_eight_queries(four, client):
    _assignment, url = four
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    assert len([query for query in captured if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]) <= 8


def test_no_score_without_its_level_is_shown_as_some_other(four, client):
    """An imported score may name no level; its value then says which is meant."""
    assignment, url = four
    criterion = assignment.task.answer_rubric.criteria.get()
    Score.objects.create(assignment=assignment, criterion=criterion, value=-1)
    Assignment.objects.update(status="submitted", submitted_at="2026-01-01T00:00:00Z")
    assert 'value="b" checked' in markup(client.get(url))
