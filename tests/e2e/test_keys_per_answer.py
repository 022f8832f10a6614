"""How few keys and taps an answer takes, and that one which is sent when it is chosen is neither lost nor doubled."""

import pytest

from annotation.models import Assignment, Score
from tests.e2e.answers import STARS, answers_of, make_study, pair_answer, press
from tests.e2e.rating_pages import (
    begin,
    begin_in_by_touch,
    chosen,
    open_assignment,
    wait_for_another,
    wait_until,
    wait_until_held,
    wait_until_said,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WAITING = "Object.keys(localStorage).filter(key => key.startsWith('plumbline:outbox:')).length"
STARRED = {key: (level, float(level)) for key, level in zip(STARS, "12321", strict=True)}
CHECKED = {"item0": ("4", 1.0), "item1": ("0", 0.0), "item2": ("2", 0.5), "overall": ("", 7.0)}
KEYS = [
    ("pair", ["a"], None),
    ("pair", ["t"], {"preference": ("tie", 0.0)}),
    ("check", ["y"], {"check": ("yes", 1.0)}),
    ("check", ["n"], {"check": ("no", 0.0)}),
    ("stars", [*"12321", "Enter"], STARRED),
    ("checklist", [*"5137", "Enter"], CHECKED),
]


def shows(page, assignment):
    page.wait_for_function("id => document.getElementById('task')?.dataset.assignment === id", arg=assignment.public_id)


@pytest.mark.parametrize(("kind", "keys", "stored"), KEYS)
def test_keys_per_answer(open_page, kind, keys, stored):
    """Pair and check one, stars and checklist one for each question and Enter; the next task is there afterwards."""
    study = make_study(kind, one_key=True)
    page = open_page()
    begin(page)
    for number in range(2):
        current = open_assignment()
        press(page, keys)
        if number == 0:
            wait_for_another(page, current)
        else:
            page.wait_for_url(f"**/studies/{study.slug}/done/")
        assert answers_of(current) == (stored or pair_answer(current, "a"))
        current.refresh_from_db()
        assert current.status == "submitted"


TAPS = [
    ("pair", [1], {"preference": ("tie", 0.0)}),
    ("check", [1], {"check": ("no", 0.0)}),
    ("stars", [0, 1, 2, 1, 0], STARRED),
    ("checklist", [4, 0, 2, 7], CHECKED),
]


@pytest.mark.parametrize(("kind", "taps", "stored"), TAPS)
def test_taps_per_answer_on_a_phone_with_the_text_in_view(open_page, kind, taps, stored):
    """One for each question and at most one more; the bar leaves more than half of the screen to the text."""
    make_study(kind, one_key=True)
    page = open_page("phone", has_touch=True, is_mobile=True)
    begin_in_by_touch(page, "en")
    current = open_assignment()
    for choice in taps:
        bar = page.locator("#rail").bounding_box()
        assert bar["y"] > 0.5 * 844
        assert abs(bar["y"] + bar["height"] - 844) < 2
        assert page.locator("#answers .item:visible").count() == 1
        page.locator("#answers .item:visible .level").nth(choice).tap()
    if len(taps) > 1:
        page.locator(".submit").tap()
    wait_for_another(page, current)
    assert answers_of(current) == stored


def test_the_keys_on_the_buttons_are_those_that_choose(open_page):
    make_study("pair", one_key=True)
    page = open_page()
    begin(page)
    assert page.locator(".face i").all_inner_texts() == ["a", "t", "b", "d"]
    page.keyboard.press("?")
    page.locator('#keys [data-action="left"]').click()
    page.keyboard.press("w")
    page.keyboard.press("Escape")
    assert page.locator(".face i").first.inner_text() == "w"
    current = open_assignment()
    page.keyboard.press("w")
    wait_for_another(page, current)
    assert answers_of(current) == pair_answer(current, "a")


def test_the_keys_of_a_check_are_those_of_yes_and_no(open_page):
    make_study("check", one_key=True)
    page = open_page()
    begin(page)
    assert page.locator(".face i").all_inner_texts() == ["y", "n"]


def test_undo_reopens_the_answer_which_one_key_changes(open_page):
    make_study("pair", tasks=3, one_key=True)
    page = open_page()
    begin(page)
    first = open_assignment()
    assert not page.locator("[data-undo]").count()
    press(page, "a")
    wait_for_another(page, first)
    wait_until_said(page, "sent")
    assert page.locator("[data-undo]").is_visible()
    second = open_assignment()
    page.locator("[data-undo]").click()
    shows(page, first)
    assert chosen(page) == {"c-preference": "a"}
    assert "Draft" not in page.locator(".saved").inner_text()
    press(page, "b")
    shows(page, second)
    assert answers_of(second) == {}
    revisions = first.scores.order_by("revision").values_list("revision", "level")
    letters = [pair_answer(first, key)["preference"][0] for key in "ab"]
    assert list(revisions) == list(enumerate(letters))


def test_the_offer_to_undo_ends(open_page):
    make_study("pair", one_key=True)
    page = open_page()
    page.clock.install()
    begin(page)
    first = open_assignment()
    press(page, "a")
    wait_for_another(page, first)
    wait_until_said(page, "sent")
    page.clock.run_for(5_100)
    assert not page.locator("[data-undo]").is_visible()
    assert page.locator(".saved").inner_text() == ""
    press(page, "z")
    shows(page, first)


def test_a_study_can_ask_for_a_second_key(open_page):
    make_study("pair", one_key=False)
    page = open_page()
    begin(page)
    first = open_assignment()
    press(page, "a")
    wait_until_said(page, "saved")
    assert chosen(page) == {"c-preference": "a"}
    assert not first.scores.exists()
    press(page, ["Enter"])
    wait_for_another(page, first)
    assert answers_of(first) == pair_answer(first, "a")


def test_a_key_held_down_answers_one_task_only(open_page):
    make_study("pair", tasks=3, one_key=True)
    page = open_page()
    begin(page)
    first = open_assignment()
    page.keyboard.down("a")
    page.keyboard.down("a")
    page.keyboard.down("a")
    wait_for_another(page, first)
    page.keyboard.down("a")
    page.keyboard.up("a")
    assert chosen(page) == {}
    assert set(Score.objects.values_list("assignment", flat=True)) == {first.pk}


def test_moving_over_the_choices_by_tab_and_arrows_sends_nothing(open_page):
    make_study("pair", one_key=True)
    page = open_page()
    begin(page)
    first = open_assignment()
    while not page.evaluate("document.activeElement.matches('#answers input[type=radio]')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    wait_until_said(page, "saved")
    assert chosen(page) == {"c-preference": "tie"}
    assert not first.scores.exists()
    page.keyboard.press("Enter")
    wait_for_another(page, first)
    assert answers_of(first) == pair_answer(first, "tie")


def test_enter_in_a_text_field_sends_nothing(open_page):
    make_study("checklist")
    page = open_page()
    begin(page)
    first = open_assignment()
    press(page, "5137")
    page.locator(".note-to-lead summary").click()
    page.locator(".note-to-lead textarea").click()
    page.keyboard.press("Enter")
    wait_until_said(page, "saved")
    assert not first.scores.exists()
    page.keyboard.press("Control+Enter")
    wait_for_another(page, first)


def test_an_answer_whose_page_is_closed_on_the_way_arrives_once(open_page):
    make_study("pair", one_key=True)
    page = open_page()
    begin(page)
    first = open_assignment()
    asked = []
    page.route(f"**/rate/{first.public_id}/", lambda route: asked.append(route.request.method))
    with page.expect_request(
        lambda request: request.method == "POST" and request.url.endswith(f"/rate/{first.public_id}/")
    ):
        press(page, "b")
    wait_until(page, lambda: asked)
    assert asked == ["POST"]
    page.close()
    again = page.context.new_page()
    again.goto(f"/rate/{first.public_id}/")
    wait_until(again, lambda: answers_of(first) == pair_answer(first, "b"))
    again.wait_for_function(f"() => {WAITING} === 0")
    assert first.scores.count() == 1


def test_without_a_network_the_answer_waits_and_the_next_task_comes(open_page):
    study = make_study("pair", one_key=True)
    page = open_page()
    begin(page)
    first = open_assignment()
    page.evaluate("document.querySelector('#answers input').dispatchEvent(new Event('change', {bubbles: true}))")
    wait_until_held(page)
    page.context.set_offline(True)
    press(page, "a")
    wait_for_another(page, first)
    assert not page.locator("[data-undo]").is_visible()
    second = Assignment.objects.get(status="open", shown_at=None)
    press(page, "b")
    wait_until_said(page, "failed")
    assert not Score.objects.exists()
    page.context.set_offline(False)
    page.wait_for_url(f"**/studies/{study.slug}/done/")
    assert answers_of(first) == pair_answer(first, "a")
    assert answers_of(second) == pair_answer(second, "b")
    assert Score.objects.count() == 2
