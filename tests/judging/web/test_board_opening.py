"""The sentence a leaderboard opens with: a leader only where there is one."""

import pytest
from django.urls import reverse

from annotation.models import Score
from calibration.statistics.ranking.coverage import Unranked
from generation.models import Instruction
from judging.leaderboards.ranked_models import unranked_models
from judging.leaderboards.table import leaderboard
from judging.web.leaderboards.messages import opening, unranked_notes
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db


def board_of(values, instructions=24, models=3):
    """`values(instruction, model)` is the judge's answer, 0 to 1, to every item, None for none; both count from 0."""
    study = make_checklist_study(instructions=instructions, models=models)
    judge = make_judge_rater(study.workspace)
    order = {pk: place for place, pk in enumerate(Instruction.objects.order_by("pk").values_list("pk", flat=True))}
    for task in study.tasks.select_related("response_a__model"):
        response = task.response_a
        value = values(order[response.instruction_id], int(response.model.name[-1]))
        if value is None:
            continue
        answer = make_answer(task, judge, {})
        Score.objects.bulk_create(
            Score(assignment=answer, criterion=one, value=value)
            for one in task.answer_rubric.criteria.filter(role="item")
        )
    return leaderboard(study.benchmark, judge, "equal")


def opening_of(board):
    return opening(board)


def test_a_clear_leader_is_called_one():
    # On every instruction model0 has 75 points, model1 50 and model2 25: no draw of instructions changes a lead.
    board = board_of(lambda instruction, model: 0.75 - 0.25 * model)
    assert opening_of(board).startswith(
        "model0 leads with an average of 0.0, followed by model1 with −100.0. It is shown to be ahead of each of the other "
        "2 ranked models on the instructions that both have, corrected for all 3 comparisons of two ranked models (Holm). "
    )
    assert {board.model_names[pk]: (lead.value, lead.n) for pk, lead in board.leads.items()} == {
        "model1": (100.0, 24),
        "model2": (200.0, 24),
    }


def test_the_ranks_beside_a_rank_agree_with_the_sentence():
    # model0 is steadily ahead of both; model1 and model2 take turns.
    def values(instruction, model):
        return (1.0, 0.25 + 0.5 * (instruction % 2), 0.75 - 0.5 * (instruction % 2 or instruction == 0))[model]

    board = board_of(values)
    assert opening_of(board).startswith("model0 leads with an average of ")
    assert board.ranks == {"model0": 1, "model1": 2, "model2": 3}
    assert board.ranks_left == {"model0": (1, 1), "model1": (2, 3), "model2": (2, 3)}
    stated = {row["model"]: (row["rank"], row["rank_low"], row["rank_high"]) for row in board.as_json()["models"]}
    assert stated == {"model0": (1, 1, 1), "model1": (2, 2, 3), "model2": (3, 2, 3)}


def test_without_enough_instructions_every_rank_stays_possible():
    board = board_of(lambda instruction, model: 0.75 - 0.25 * model, instructions=5)
    assert set(board.ranks_left.values()) == {(1, 3)}
    assert opening_of(board).startswith("No model clearly leads")


def test_even_models_share_the_place_and_none_is_called_the_leader():
    board = board_of(lambda instruction, model: 0.25 if model == 2 else 0.75)
    said = opening_of(board)
    assert said.startswith("No model clearly leads: model0, model1 are even, each with average 0.0.")
    assert "model0 leads" not in said and "model2 is next with −200.0" in said
    assert board.ranks == {"model0": 1, "model1": 1, "model2": 3}


def test_all_even_models_have_no_next():
    said = opening_of(board_of(lambda instruction, model: 0.5, models=6))
    assert said.startswith(
        "No model clearly leads: model0, model1, model2, model3, … are even, each with average −100.0. "
    )
    assert "is next" not in said


def test_a_lead_whose_interval_holds_0_is_not_called_a_lead():
    # model0 is 25 points better on 13 instructions and 25 worse on 11: 4 x 25 x 2/24 = 8.3 ahead, within chance.
    board = board_of(lambda instruction, model: (0.5, 0.25 + 0.5 * (instruction >= 13), 0.0)[model])
    lead = board.leads[board.pks["model1"]]
    assert lead.low < 0 < lead.high
    said = opening_of(board)
    assert said.startswith("No model clearly leads: model0 is first, average −100.0, but model1 ")
    assert "The difference of 8 (−" in said and "may be due to chance" in said


def test_the_paired_lead_counts_not_whether_the_intervals_overlap():
    # Half the instructions are 75 points harder, the models differ by a steady 10: the intervals overlap, the lead is clear.
    board = board_of(lambda instruction, model: 0.75 * (instruction % 2) + 0.1 * (model == 0), models=2)
    first, second = (board.intervals.averages[board.pks[name]] for name in ("model0", "model1"))
    assert second.high > first.low
    assert opening_of(board).startswith("model0 leads with an average of")


def test_few_instructions_show_no_leader():
    said = opening_of(board_of(lambda instruction, model: 0.75 - 0.25 * model, instructions=5))
    assert said.startswith("No model clearly leads: model0 is first")
    assert (
        "Too few instructions were judged for both to tell: that needs at least 20, and two in every category." in said
    )


def test_a_leader_must_be_ahead_of_the_last_model_too():
    """model1 is steadily behind; model2 has still fewer points, but so unevenly that its place is not known."""

    def values(instruction, model):
        return (0.75, 0.7, float(instruction % 3 > 0))[model]

    board = board_of(values, instructions=40)
    assert board.ranks == {"model0": 1, "model1": 2, "model2": 3}
    said = opening_of(board)
    assert said.startswith("No model clearly leads: model0 is first, ") and "but model2 with" in said


def test_a_lead_of_one_pair_among_many_is_corrected():
    """model0 is better on 27 of 40: p is .03 of one comparison, and no less than .05 of fifteen."""
    board = board_of(
        lambda instruction, model: 0.5 if model == 0 else 0.25 + 0.5 * ((instruction * 7 + model * 11) % 40 >= 27),
        instructions=40,
        models=6,
    )
    lead = board.leads[board.pks["model1"]]
    assert lead.low > 0 and lead.compared == 15 and lead.p > 0.05
    said = opening_of(board)
    assert said.startswith("No model clearly leads: model0 is first")
    assert "may be due to chance, because it is one of 15: corrected for them, p is " in said


def test_harder_instructions_of_its_own_do_not_put_a_model_ahead():
    """model0 skipped the hard half, on which all have nothing; on what both have, model1 is better."""
    board = board_of(
        lambda instruction, model: (
            None if model == 0 and instruction % 2 else 0.0 if instruction % 2 else 0.5 + 0.25 * (model == 1)
        ),
        instructions=48,
        models=2,
    )
    assert board.ranks == {"model0": 1, "model1": 2}
    said = opening_of(board)
    assert said.startswith("No model clearly leads: model0 is first, ")
    assert "On the 24 instructions that both have, model1 is ahead by 100." in said


def test_a_single_model_leads_nobody():
    assert opening_of(board_of(lambda instruction, model: 0.5, models=1)).startswith(
        "model0 has an average of −100.0. "
    )


def test_the_page_says_what_its_intervals_are_about(client):
    board = board_of(lambda instruction, model: (instruction % 3) / 4 + 0.25 * model, models=2)
    client.force_login(make_user("lead"))
    html = markup(client.get(reverse("judging:leaderboard", args=[board.benchmark]), {"weights": "equal"}))
    assert "taken as given, with the instructions drawn again" in html and "nothing of what people would say" in html


def test_the_page_opens_with_it(client):
    board = board_of(lambda instruction, model: 0.75, models=2)
    client.force_login(make_user("lead"))
    html = client.get(reverse("judging:leaderboard", args=[board.benchmark]), {"weights": "equal"})
    assert "No model clearly leads: model0, model1 are even" in markup(html)


def test_a_single_column_does_not_repeat_the_overall_score(client):
    board = board_of(lambda instruction, model: 0.75 - 0.25 * model, models=2)
    client.force_login(make_user("lead"))
    html = client.get(reverse("judging:leaderboard", args=[board.benchmark]), {"weights": "equal"})
    table = markup(html).split('<section class="stack-tight" id="scores">')[1].split("</table>")[0]
    assert [*board.categories.values()] == ["writing"]
    assert table.count("−100.0</strong>") == 1 and "(24)" not in table
    head, *rows = table.split("<tr>")[1:]
    assert all(row.count("</td>") + row.count("</th>") == head.count("</th>") for row in rows)


def test_a_model_with_a_tenth_of_the_instructions_is_listed_last_and_never_leads(client):
    # model0 has 60 instructions, model1 6, all of them perfect, and model2 60.
    board = board_of(lambda instruction, model: (0.75, 1.0 if instruction < 6 else None, 0.5)[model], instructions=60)
    assert [row.model for row in board.models] == ["model0", "model2", "model1"]
    assert board.models[2].average == 100.0
    said = opening_of(board)
    assert said.startswith("model0 leads with an average of 0.0") and "model1" not in said
    assert board.ranks == {"model0": 1, "model2": 2}
    assert board.model_names[board.pks["model0"]] == "model0" and set(board.leads) == {board.pks["model2"]}
    (note,) = unranked_notes(board)
    assert note.startswith("Listed without a rank, because judged on fewer than half") and "model1 (6)" in note
    assert [row.get("not_ranked") for row in board.as_json()["models"]] == [None, None, "few"]
    client.force_login(make_user("lead"))
    html = markup(client.get(reverse("judging:leaderboard", args=[board.benchmark]), {"weights": "equal"}))
    assert "model1 (6)." in html
    row = html.split('<th scope="row">model1</th>')[0].rsplit("<tr>", 1)[1]
    assert "–" in row


def test_a_model_without_an_interval_does_not_lead_those_that_have_one():
    # 15 of 24 instructions are more than half, and fewer than the 20 that an interval needs.
    board = board_of(lambda instruction, model: (0.75, 1.0 if instruction < 15 else None, 0.5)[model])
    assert board.ranks == {"model0": 1, "model2": 2}
    assert "fewer than 20 instructions" in unranked_notes(board)[0]
    assert opening_of(board).startswith("model0 leads")


def test_no_lead_is_clear_without_its_interval():
    # One instruction: there is no interval at all.
    board = board_of(lambda instruction, model: 0.75 - 0.25 * model, instructions=1)
    assert opening_of(board).startswith("No model clearly leads: model0 is first")


def test_models_are_ranked_up_to_half_of_the_median():
    board = board_of(lambda instruction, model: 0.5 if model or instruction < 20 else None, instructions=40)
    assert board.unranked == {}
    # Without the first instruction, 19 of a median of 39: under half of it.
    others = board.observations.select(board.observations.instruction != board.observations.instruction.min())
    assert unranked_models(others, board.model_names) == {"model0": Unranked.FEW}
