import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.ranking.power import shared_ranks
from judging.scores.benchmark_scores import (
    InstructionCounts,
    NothingScored,
    NotOnScale,
    instruction_completion,
    llmeval1_mean,
    weighted_average,
    wildbench_mix,
    wildbench_rewards,
    win_shares,
)
from judging.scores.metrics import GRADED, METRICS, REWARD, STARS, WINS
from judging.scores.points import model_scores
from tests.conftest import shared_path

FULL_MARKS = {
    "Correctness": 3,
    "Explanation Correctness": 2,
    "Accuracy": 5,
    "Fluency": 3,
    "Informativeness": 3,
    "Logicality": 3,
}
# LongGenBench, table 2, last column: model and length to percent; one cell is a misprint of 27.1.
PRINTED_AVERAGES = {
    "Mistral-7B-Instruct-v0.2_maxlen16000": 14.3,
    "Meta-Llama-3.1-8B-Instruct_maxlen16000": 20.6,
    "Qwen2-7B-Instruct_maxlen16000": 9.7,
    "FILM-7B_maxlen16000": 1.4,
    "LongWriter-llama3.1-8b_maxlen16000": 4.5,
    "Mixtral-8x7B-Instruct-v0.1_maxlen16000": 23.3,
    "Meta-Llama-3.1-70B-Instruct_maxlen16000": 16.7,
    "Qwen2-72B-Instruct_maxlen16000": 22.7,
    "GPT_4o_16K": 12.5,
    "GPT_4o_mini_16K": 26.9,
    "Mistral-7B-Instruct-v0.2_maxlen32000": 7.9,
    "Meta-Llama-3.1-8B-Instruct_maxlen32000": 14.6,
    "Qwen2-7B-Instruct_maxlen32000": 5.0,
    "FILM-7B_maxlen32000": 4.1,
    "LongWriter-llama3.1-8b_maxlen32000": 3.5,
    "Mixtral-8x7B-Instruct-v0.1_maxlen32000": 13.5,
    "Meta-Llama-3.1-70B-Instruct_maxlen32000": 13.7,
    "Qwen2-72B-Instruct_maxlen32000": 11.5,
}


def scored(metric, top, category=None, under=None):
    """The score of one model as a leaderboard computes it, from one entry a verdict."""
    names, codes = np.unique(np.full(len(top), "all") if category is None else category, return_inverse=True)
    (found,) = model_scores(
        model=np.zeros(len(top), dtype=np.int64),
        category=codes.reshape(-1).astype(np.int64),
        points=np.asarray(top, dtype=np.float64),
        under=under,
        unscored={},
        model_names={0: "model"},
        category_keys=dict(enumerate(map(str, names))),
        rule=METRICS[metric].rule,
    )
    return found


def categories_of(found):
    return {key: cell.score for key, cell in found.categories.items()}


def ranks_of(outcomes):
    """Ranks by model, of the outcomes of each on the same comparisons."""
    names = sorted(outcomes)
    found = shared_ranks(np.column_stack([outcomes[name] for name in names]), names)
    return dict(zip(found.models, found.rank.tolist(), strict=True))


@pytest.mark.parametrize(("who", "total"), [("human", 89.4953), ("gpt4", 90.1743)])
def test_gpt_4s_stars_in_six_subjects_give_its_total(who, total):
    rows = pd.read_csv(shared_path("llmeval2/stars.csv.gz"), dtype={"llm_name": str})
    own = rows[rows["llm_name"] == "GPT4"]
    full = own["criterion"].map(FULL_MARKS).to_numpy(dtype=float)
    found = scored(STARS, own[who].to_numpy(dtype=float), own["subject"].tolist(), full)
    assert found.average == pytest.approx(total, abs=1e-4)
    assert len(found.categories) == 6
    assert sum(cell.n for cell in found.categories.values()) == len(own)


def test_totals_weigh_subjects_alike_by_hand():
    # Law: (3 + 2)/5 = 100 %; Physics: (7 of 14, 14 of 14) = 21/28 = 75 %. The mean of the subjects is 87.5.
    found = scored(STARS, [3.0, 2, 7, 14], ["Law", "Law", "Physics", "Physics"], np.array([3.0, 2, 14, 14]))
    assert found.average == 87.5
    assert categories_of(found) == {"Law": 100.0, "Physics": 75.0}


def test_the_first_stages_mean_keeps_duplicates_by_hand():
    # Fluency: 3, 3, 3, 1 (two raters twice): 2.5; accuracy: 1.5. The mean of the two is 2.
    criteria = ["fluency"] * 4 + ["accuracy"] * 2
    assert llmeval1_mean(criteria, np.array([3.0, 3, 3, 1, 1, 2])) == 2.0


@pytest.mark.parametrize(("model", "score"), [("gemma-2b-it", 6.21), ("gpt-3.5-turbo-0125", 42.11)])
def test_wildbenchs_scores_of_two_models(model, score):
    rows = pd.read_csv(shared_path("wildbench/score.csv.gz"))
    own = rows.loc[rows["model"] == model, "score"].to_numpy(dtype=float)
    assert scored(GRADED, own).average == pytest.approx(score, abs=0.005)


def test_wildbenchs_rewards_are_the_leaderboards():
    rows = pd.read_csv(shared_path("wildbench/reward.csv"))
    assert len(rows) == 208
    for row in rows.itertuples():
        counts = {2: row.win_much, 1: row.win, -1: row.lose, -2: row.lose_much}
        # The file's totals hold comparisons that none of its columns counts; they weigh as nothing won or lost.
        counts[0] = row.total - sum(counts.values())
        grade = np.repeat(list(counts), list(counts.values()))
        assert scored(REWARD, wildbench_rewards(grade)).average == pytest.approx(100 * row.reward, abs=1e-9)


def test_a_longer_slight_winner_only_ties_by_hand():
    # Margin 100: a slight win longer by 101 and a slight loss to one longer by 101 are ties; by 100 they stand, and
    # much better or worse stands at any length.
    grade = np.array([1, 1, -1, -1, 2, -2, 1])
    ours, theirs = np.array([301, 300, 200, 200, 900, 1, 1]), np.array([200, 200, 301, 300, 1, 900, 900])
    kept = wildbench_rewards(grade, ours, theirs, margin=100)
    assert kept.tolist() == [0.0, 0.5, 0.0, -0.5, 1.0, -1.0, 0.5]
    assert wildbench_rewards(grade, ours, theirs).tolist() == [0.5, 0.5, -0.5, -0.5, 1.0, -1.0, 0.5]
    with pytest.raises(NotOnScale):
        wildbench_rewards(np.array([3]))
    with pytest.raises(NotOnScale):
        wildbench_rewards(grade, margin=100)


def test_a_baseline_against_itself_counts_zero_in_the_mix():
    # WildBench, table 2: (0.0 + 45.3 + 58.4)/3 = 34.6 for the model that is itself a baseline.
    names = ("gpt4t", "haiku", "llama")
    assert wildbench_mix({"haiku": 45.3, "llama": 58.4}, names, "gpt4t") == pytest.approx(34.6, abs=0.05)
    assert wildbench_mix({"gpt4t": 1.5, "haiku": 46.3, "llama": 59.3}, names, "gpt-4o") == pytest.approx(35.7, abs=0.05)
    with pytest.raises(NothingScored, match="haiku"):
        wildbench_mix({"gpt4t": 1.5, "llama": 59.3}, names, "gpt-4o")


def test_a_tie_is_half_a_win_by_hand():
    # Chat: win, tie: 75 %; QA: loss, loss, win: 1/3. Overall (1 + .5 + 1)/5 = 50 %.
    shares = win_shares(np.array([1.0, 0, -1, -2, 2]))
    assert shares.tolist() == [1.0, 0.5, 0.0, 0.0, 1.0]
    found = scored(WINS, shares, ["chat", "chat", "qa", "qa", "qa"])
    assert found.average == 50
    assert categories_of(found) == pytest.approx({"chat": 75, "qa": 100 / 3})


@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=50))
def test_swapping_the_sides_mirrors_the_win_rate(outcomes):
    rate = scored(WINS, win_shares(np.array(outcomes))).average
    assert scored(WINS, win_shares(-np.array(outcomes))).average == pytest.approx(100 - rate)


def test_models_that_a_paired_test_cannot_tell_apart_share_a_rank():
    # b loses 1 of a's 40 wins (p = .32): shared; c loses 20 of them (p < .001) and leads rank 3; d never wins.
    a = np.ones(40)
    b, c = a.copy(), a.copy()
    b[0] = 0
    c[:20] = 0
    assert ranks_of({"d": np.zeros(40), "c": c, "b": b, "a": a}) == {"a": 1, "b": 1, "c": 3, "d": 4}
    assert ranks_of({"x": a, "y": a.copy()}) == {"x": 1, "y": 1}
    with pytest.raises(TooFewRatings):
        ranks_of({"a": a[:1], "b": b[:1]})


def test_instruction_completion_by_hand():
    # 10 + 10 sub-tasks asked, 8 + 2 present: 1/2. 4 + 4 instructions, 3 + 1 answered, 2 + 0 fulfilled: STIC-1 2/4,
    # STIC-2 2/8, weighted average 1/8.
    found = instruction_completion({"one": InstructionCounts(10, 8, 4, 3, 2), "two": InstructionCounts(10, 2, 4, 1, 0)})
    assert (found.completion_rate, found.stic_1, found.stic_2, found.weighted_average) == (0.5, 0.5, 0.25, 0.125)
    with pytest.raises(NothingScored):
        instruction_completion({"empty": InstructionCounts(10, 0, 4, 0, 0)})
    with pytest.raises(NotOnScale):
        instruction_completion({"wrong": InstructionCounts(10, 8, 4, 3, 4)})


def test_longgenbenchs_weighted_averages():
    rows = pd.read_csv(shared_path("longgenbench/static.csv"))
    assert len(rows) == 21
    compared = 0
    for _, row in rows.iterrows():
        counts = InstructionCounts(
            1000, 500, int(row["Total Checks"]), int(row["Total Results"]), int(row["Total Yes"])
        )
        found = instruction_completion({"pooled": counts})
        assert found.stic_1 == pytest.approx(row["Ratio Yes/Results"], abs=1e-12)
        assert found.stic_2 == pytest.approx(row["Ratio Yes/Checks"], abs=1e-12)
        average = weighted_average(row["CR"], found.stic_2)
        printed = PRINTED_AVERAGES.get(row["Filename"].removesuffix(".json"))
        if printed is not None:
            misprint = 0.2 if printed == 26.9 else 0.0
            assert average == pytest.approx(printed + misprint, abs=0.0501)
            compared += 1
    assert compared == len(PRINTED_AVERAGES)
    # The two misprints of the paper's table 2: completion 67.2 for 62.7 and the average 26.9 for 27.1.
    by_name = rows.set_index("Filename")
    assert by_name.loc["GPT_4o_16K.json", "CR"] == pytest.approx(62.7, abs=0.05)
    mini = by_name.loc["GPT_4o_mini_16K.json"]
    assert weighted_average(mini["CR"], mini["Ratio Yes/Checks"]) == pytest.approx(27.1, abs=0.05)


def test_a_mean_of_no_stars_is_a_named_error():
    with pytest.raises(NothingScored):
        llmeval1_mean([], np.array([]))
