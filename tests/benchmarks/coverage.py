"""Do the stated intervals hold the true value as often as they say? Simulated data, seeded.

Every line draws data sets whose rows come in clusters (instructions whose answers resemble each other), asks the
product for its intervals, and counts how often they hold the value that an endless data set would give. "rows" is what
the same intervals would cover if every row, or every task of an instruction, were taken as independent (on a tenth of
the data sets), and "width" the median stated standard error over the true one. Null designs have nothing to find, and
count how often a finding claims something all the same.
The last line is JSON: lines, promised (intervals), kept (of them), min and max coverage, and the largest shares of
false claims (by finding, and of any finding of a design), in percent.

A whole run takes hours. --topic measures a part of it, --store FILE notes every design in a file as soon as it is
measured and takes from there what the same command measured before, so that a run can be cut off and continued, and
parts that were run beside each other can be put together. --estimate says how long each topic would take.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from inference import agreement, judges, panels, planning, rankings, raters, stopping, weights
from inference.design import AT_LEAST, EXACT, MOST_FALSE_CLAIMS, Design, NullDesign, held, seed_of, stated
from inference.measuring import Measured, Store, estimated_seconds, false_claims, measured_design

from calibration.statistics.agreement.alpha import krippendorff_alpha
from calibration.statistics.agreement.leave_one_out import leave_one_out, outer_leave_one_out
from calibration.statistics.agreement.proportions import clustered_proportions, plain_proportion
from calibration.statistics.judges.bias import length_bias, position_bias, self_preference, swap_agreement
from calibration.statistics.judges.calibration import soft_verdicts
from calibration.statistics.judges.correlations import ScoredResponses, people_correlation
from calibration.statistics.judges.prediction_powered import (
    ModelScores,
    prediction_powered_difference,
    prediction_powered_mean,
)
from calibration.statistics.ranking.pairs import as_games, bradley_terry, bradley_terry_intervals
from calibration.statistics.shares import mean_shares
from calibration.statistics.weights.fit import weight_intervals
from calibration.statistics.weights.least_squares import cluster_sums
from judging.scores.corrected_scores import Entries, corrected_score
from judging.scores.leads import comparisons_of
from judging.scores.paired_difference import paired_difference
from judging.scores.points import HELLOBENCH, PointsRule, average_intervals

SEED = 2409

# Weights: y = x w + what an instruction adds to all its overall scores + error; answers differ between responses.

WEIGHTS = np.array([1.2, 1.8, 2.4, 0.9, 1.5])
AT_FLOOR = np.array([0.5, 2.0, 0.5, 2.5, 2.0])
RESPONSES, RATERS = 4, 3


def annotations(rng, instructions, weights):
    """Answers (n, items), overall (n,), instruction (n,), with response effects shared by a response's raters."""
    shape = (instructions, RESPONSES, RATERS, len(weights))
    instruction = rng.uniform(-0.15, 0.15, size=(instructions, 1, 1, len(weights)))
    response = rng.uniform(-0.2, 0.2, size=(instructions, RESPONSES, 1, len(weights)))
    x = 0.5 + instruction + response + rng.uniform(-0.1, 0.1, size=shape)
    own = rng.normal(scale=0.5, size=(instructions, 1, 1)) + rng.normal(scale=0.4, size=(instructions, RESPONSES, 1))
    y = x @ weights + own + rng.normal(scale=0.4, size=shape[:3])
    return x.reshape(-1, len(weights)), y.ravel(), np.repeat(np.arange(instructions), RESPONSES * RATERS)


def true_r2(weights) -> float:
    """Variances of the parts: answers (.3^2 + .4^2 + .2^2)/12 each, instruction .25, response .16, error .16."""
    explained = float(weights @ weights) * (0.3**2 + 0.4**2 + 0.2**2) / 12
    return explained / (explained + 0.25 + 0.16 + 0.16)


def weights_design(instructions: int, weights, names: tuple[str, str]):
    truth, r2 = 100 * weights / weights.sum(), true_r2(weights)

    def draw(rng, resamples, clustered):
        x, y, instruction = annotations(rng, instructions, weights)
        codes = instruction if clustered else np.arange(y.size)
        sums = cluster_sums(x, y, codes, int(codes.max()) + 1)
        found = weight_intervals(sums, 0.5, draws=resamples, seed=seed_of(rng))
        on_weights = held(found.weights_low, found.weights_high, truth)
        return {names[0]: on_weights, names[1]: held(found.r2_low, found.r2_high, r2)}

    return draw


# Agreement: five levels cut from a response's quality, in which an instruction's responses resemble each other.

TASKS_EACH = 3


def ratings(rng, instructions):
    """Labels 0..4: people (tasks, 3), judge (tasks,), and the instruction of each task."""
    level = np.repeat(rng.normal(scale=0.9, size=instructions), TASKS_EACH)
    # How clear an instruction's quality is to anyone is its own as well: agreement itself comes in clusters.
    noise = np.repeat(rng.choice([0.3, 1.3], size=instructions), TASKS_EACH)
    quality = level + rng.normal(scale=0.4, size=level.size)
    seen = quality[:, None] + noise[:, None] * rng.normal(size=(level.size, 4))
    labels = np.digitize(seen, [-1.2, -0.4, 0.4, 1.2])
    return labels[:, :3], labels[:, 3], np.repeat(np.arange(instructions), TASKS_EACH)


METRICS = ("nominal", "ordinal", "interval")


def agreement_values(people, judge, clusters, resamples, seed):
    tasks = np.repeat(np.arange(len(people)), 3)
    lines = np.repeat(clusters, 3)
    settings = {"draws": resamples, "seed": seed, "clusters": lines}
    found = {
        f"alpha, {metric}": krippendorff_alpha(tasks, people.ravel().astype(float), metric=metric, **settings)
        for metric in METRICS
    }
    found["leave-one-out, inner"] = leave_one_out(tasks, people.ravel(), **settings)
    found["leave-one-out, outer"] = outer_leave_one_out(tasks, people.ravel(), judge, **settings)
    return found


def agreement_design(instructions: int):
    people, judge, of_task = ratings(np.random.default_rng(SEED), 200_000)
    endless = agreement_values(people, judge, of_task, 0, 0)
    truth = {name: getattr(one, "value", getattr(one, "rate", None)) for name, one in endless.items()}

    def draw(rng, resamples, clustered):
        people, judge, of_task = ratings(rng, instructions)
        clusters = of_task if clustered else np.arange(len(people))
        found = agreement_values(people, judge, clusters, resamples, seed_of(rng))
        return {name: held(one.low, one.high, truth[name]) for name, one in found.items()}

    return draw


# Compare with people: mean human score and judge score of responses, both partly the instruction's.


def scored_responses(rng, instructions):
    shared = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=instructions)
    own = rng.multivariate_normal([0, 0], [[0.5, 0.15], [0.15, 0.5]], size=(instructions, TASKS_EACH))
    both = (shared[:, None, :] + own).reshape(-1, 2)
    return both[:, 0], both[:, 1], np.repeat(np.arange(instructions), TASKS_EACH)


def pearson_design(instructions: int):
    truth = (0.8 + 0.15) / 1.5

    def draw(rng, _resamples, clustered):
        people, judge, of_task = scored_responses(rng, instructions)
        places = np.arange(people.size)
        clusters = of_task if clustered else places
        scored = ScoredResponses(judge, clusters, 0 * places, places, 0 * places, people)
        found = people_correlation(scored, seed=seed_of(rng)).pearson
        return {"Pearson of judge and people": held(found.low, found.high, truth)}

    return draw


# Pairs: models' strengths differ from instruction to instruction, and each pair meets several raters on it.

STRENGTHS = np.array([0.9, 0.5, 0.4, -0.3, -1.5])
PAIR_RATERS = 3


def preferences(rng, instructions):
    first, second = np.triu_indices(len(STRENGTHS), 1)
    own = STRENGTHS + rng.normal(scale=1.0, size=(instructions, len(STRENGTHS)))
    chance = 1 / (1 + np.exp(own[:, second] - own[:, first]))
    uniform = rng.uniform(size=(*chance.shape, PAIR_RATERS))
    score = np.where(uniform < 0.15, 0.5, rng.uniform(size=uniform.shape) < chance[..., None])
    shape = score.shape
    return (
        np.broadcast_to(first[None, :, None], shape).ravel(),
        np.broadcast_to(second[None, :, None], shape).ravel(),
        score.ravel().astype(float),
        np.broadcast_to(np.arange(instructions)[:, None, None], shape).ravel(),
    )


def bradley_terry_design(instructions: int):
    first, second, score, cluster = preferences(np.random.default_rng(SEED), 60_000)
    truth = bradley_terry(as_games(first, second, score, clusters=cluster)).strength
    ahead = truth[:, None] - truth[None, :]
    rank = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    upper = np.triu_indices(len(STRENGTHS), 1)

    def draw(rng, resamples, clustered):
        first, second, score, cluster = preferences(rng, instructions)
        games = as_games(first, second, score, clusters=cluster if clustered else None)
        found = bradley_terry_intervals(games, draws=resamples, seed=seed_of(rng))
        return {
            "Bradley-Terry differences": held(found.difference_low[upper], found.difference_high[upper], ahead[upper]),
            "rank intervals": held(found.rank_low, found.rank_high, rank),
        }

    return draw


# Prediction-powered means: 300 human scores of 100 instructions, 9,999 further judge scores of 3,333.


def model_scores(rng, mean, level, labels, people):
    truth = mean + level[labels] + rng.normal(scale=0.5, size=labels.size)
    judge = truth + 0.6 + rng.normal(scale=0.5, size=labels.size)
    return ModelScores(truth[:people], judge[:people], labels[:people], judge[people:], labels[people:])


def powered_design():
    labels = np.repeat(np.arange(100 + 3333), TASKS_EACH)

    def draw(rng, resamples, clustered):
        level = rng.normal(scale=0.8, size=100 + 3333)
        own = labels if clustered else np.arange(labels.size)
        levels = level if clustered else level[labels]
        one = model_scores(rng, 3.4, levels, own, 300)
        other_level = levels + (
            rng.normal(scale=0.4, size=100 + 3333) if clustered else rng.normal(scale=0.4, size=3433)[labels]
        )
        two = model_scores(rng, 3.1, other_level, own, 300)
        mean, difference = (prediction_powered_mean(one).powered, prediction_powered_difference(one, two).powered)
        return {
            "prediction-powered mean": held(mean.low, mean.high, 3.4),
            "prediction-powered difference": held(difference.low, difference.high, 0.3),
        }

    return draw


# Model mean scores: points 0..100 of two models in three categories, several judged answers an instruction.


def means_design(instructions: int):
    categories, models, answers = 3, 2, 4
    centres = np.array([[70.0, 75, 80], [60, 72, 78]])
    truth = (centres.mean(axis=1) - 75) * 4

    def draw(rng, resamples, clustered):
        shape = (models, categories, instructions, answers)
        model, category, instruction, _ = (axis.ravel() for axis in np.indices(shape))
        shared = rng.normal(scale=8, size=(1, categories, instructions, 1))
        own = rng.normal(scale=5, size=(models, categories, instructions, 1))
        points = centres[:, :, None, None] + shared + own + rng.normal(scale=4, size=shape)
        whole = category * instructions + instruction
        found = average_intervals(
            model=model,
            category=category,
            instruction=whole if clustered else np.arange(whole.size),
            points=points.ravel(),
            draws=resamples,
            seed=seed_of(rng),
        )
        ends = [found.averages[code] for code in range(models)]
        cells = [found.cells[code, column] for code in range(models) for column in range(categories)]
        of_cells = ((centres - 75) * 4).ravel()
        return {
            "model mean scores": held([one.low for one in ends], [one.high for one in ends], truth),
            "scores by category": held([one.low for one in cells], [one.high for one in cells], of_cells),
        }

    return draw


# Leads: the board's best model before the next, whoever they are on this data; and two models chosen beforehand.

ABILITIES = {"one ahead": np.array([4.0, 2, 2, 0, -2, -4]), "all equal": np.zeros(6)}


def leads_design(instructions: int, which: str):
    ability, categories = ABILITIES[which], np.array([70.0, 75, 80])

    def draw(rng, resamples, _clustered):
        shape = (ability.size, categories.size, instructions)
        model, category, instruction = (axis.ravel() for axis in np.indices(shape))
        shared = rng.normal(scale=8, size=(1, *shape[1:]))
        points = ability[:, None, None] + categories[:, None] + shared + rng.normal(scale=6, size=shape)
        order = np.argsort(-points.mean(axis=(1, 2)), kind="stable")
        first, second = int(order[0]), int(order[1])
        whole = category * instructions + instruction
        leads = comparisons_of(
            model=model, category=category, instruction=whole, points=points.ravel(), models=[first, second]
        )
        gap = (points[0] - points[1]).ravel()
        pair = paired_difference(category[: gap.size], gap, HELLOBENCH)
        lead, own = leads.get((first, second)), pair.overall.interval
        columns = [one.interval for one in pair.columns.values()]
        apart, ahead = 4 * (ability[0] - ability[1]), 4 * (ability[first] - ability[second])
        on_lead = np.array([]) if lead is None else held(lead.low, lead.high, ahead)
        return {
            f"lead of the first over the second, {which}": on_lead,
            f"two models compared, {which}": held(own.low, own.high, apart),
            f"two models compared by category, {which}": held(
                [one.low for one in columns], [one.high for one in columns], apart
            ),
        }

    return draw


# Shares of one rater: repeats that agree, and an accuracy near 1 in clusters.


def repeats_design(repeats: int):
    ends = [plain_proportion(hits, repeats) for hits in range(repeats + 1)]

    def draw(rng, resamples, clustered):
        found = [ends[int(rng.binomial(repeats, p))] for p in (0.6, 0.8, 0.95)]
        truth = np.array([0.6, 0.8, 0.95])
        name = f"repeat agreement, {repeats} repeats"
        return {name: held([one.low for one in found], [one.high for one in found], truth)}

    return draw


def proportion_of(hit, clusters):
    """The proportion of all entries together."""
    return clustered_proportions(hit, np.zeros(len(hit), dtype=np.int64), clusters)[0]


def boundary_design(items: int):
    def draw(rng, resamples, clustered):
        chance = rng.beta(4 * 0.97, 4 * 0.03, size=items)
        hit = rng.uniform(size=(items, 5)) < chance[:, None]
        clusters = np.repeat(np.arange(items), 5) if clustered else np.arange(items * 5)
        found = proportion_of(hit.ravel(), clusters)
        return {"accuracy near 1": held(found.low, found.high, 0.97)}

    return draw


# What sways a judge: pairs of responses whose lengths, sides and families matter, several of them an instruction.

PAIRS_EACH = 3
SHARES = ("swap agreement", "flip rate", "first side's win share")
FAMILY_POINTS = ("judge's points for its own family", "lift over people")


def verdicts_on(rng, ahead):
    """1, 0.5 or 0 for the side that is `ahead` by so much; a tie where it is close."""
    seen = ahead + rng.logistic(scale=0.5, size=ahead.shape)
    return np.where(np.abs(seen) < 0.25, 0.5, (seen > 0).astype(float))


def swayed(rng, instructions, clear):
    """Shares of one judge of pairs, by name, and arrays to compute them from: see swayed_shares."""
    of_pair = np.repeat(np.arange(instructions), PAIRS_EACH)
    # How far apart an instruction's responses are, and how much their place sways, is the instruction's own.
    apart = rng.normal(scale=clear, size=instructions)[of_pair] + rng.normal(scale=0.5, size=of_pair.size)
    swayed_by = rng.normal(loc=0.3, scale=0.5, size=instructions)[of_pair]
    lengths = rng.integers(200, 2000, size=(2, of_pair.size))
    ahead = apart + 0.0004 * (lengths[0] - lengths[1])
    own = rng.uniform(size=(2, of_pair.size)) < 0.4
    liking = 0.4 * (own[0].astype(float) - own[1])
    once, again = verdicts_on(rng, ahead + liking + swayed_by), verdicts_on(rng, swayed_by - ahead - liking)
    people = np.mean([verdicts_on(rng, apart) for _ in range(3)], axis=0)
    return of_pair, lengths.astype(float), own, once, again, people


def swayed_shares(drawn, clusters, resamples, seed):
    _, lengths, own, once, again, people = drawn
    settings = {"clusters": clusters, "draws": resamples, "seed": seed}
    swapped = swap_agreement(once, again, **settings)
    family = self_preference(own[0], own[1], once, people, **settings)
    return {
        "swap agreement": swapped.agreement,
        "flip rate": swapped.flip_rate,
        "first side's win share": position_bias(once, **settings).first_wins,
        "length bias rate": length_bias(lengths[0], lengths[1], once, threshold=100, **settings).rate,
        "judge's points for its own family": family.judge,
        "lift over people": family.lift,
    }


def swayed_design(instructions: int, clear: float, end: str):
    endless = swayed_shares(swayed(np.random.default_rng(SEED), 300_000, clear), None, 0, 0)
    truth = {name: share.value for name, share in endless.items()}

    def draw(rng, resamples, clustered):
        drawn = swayed(rng, instructions, clear)
        found = swayed_shares(drawn, drawn[0] if clustered else None, resamples, seed_of(rng))
        return {f"{name}{end}": stated(one, truth[name]) for name, one in found.items()}

    return draw


# Reviews: findings on the answers of an instruction's verdict, all of them or those on one criterion.


def reasonable_design(instructions: int, findings: int, rate: float, name: str):
    def draw(rng, resamples, clustered):
        chance = rng.beta(10 * rate, 10 * (1 - rate), size=instructions)
        found = rng.uniform(size=(instructions, findings)) < chance[:, None]
        clusters = np.repeat(np.arange(instructions), findings) if clustered else None
        (share,) = mean_shares([found.ravel()], clusters, draws=resamples, seed=seed_of(rng))
        return {name: stated(share, rate)}

    return draw


# Scores corrected by people: in each category a few instructions scored by both, and many by the judge alone.

CATEGORY_MEANS = np.array([70.0, 78, 84])


def judged_and_scored(rng, instructions, rule):
    """Entries of one model: people's and the judge's of every response of `instructions` instructions a category."""
    shape = (len(CATEGORY_MEANS), instructions, 2)
    category, number, _ = (axis.ravel() for axis in np.indices(shape))
    level = CATEGORY_MEANS[:, None, None] + rng.normal(scale=7, size=(len(CATEGORY_MEANS), instructions, 1))
    people = (level + rng.normal(scale=6, size=shape)).ravel()
    judge = people + 6 + rng.normal(scale=5, size=people.size)
    under = rng.integers(2, 9, size=people.size).astype(float) if rule.pooled else np.ones(people.size)
    whole = category * instructions + number
    return [Entries(category, whole, tops * under, under) for tops in (people, judge)], number


def corrected_design(labelled: int, rule: PointsRule, name: str):
    truth = float(rule.scaled(np.array(CATEGORY_MEANS.mean())))

    def draw(rng, resamples, clustered):
        (people, judge), number = judged_and_scored(rng, labelled + 200, rule)
        few = number < labelled
        parts = []
        for one, mask in ((people, few), (judge, few), (judge, ~few)):
            instruction = one.instruction if clustered else np.arange(len(one))
            parts.append(Entries(one.column[mask], instruction[mask], one.top[mask], one.under[mask]))
        found = corrected_score(*parts, rule)
        return {name: held(found.low, found.high, truth)}

    return draw


# Graded verdicts: a judge's five levels against the mean of three people's, both swayed by the instruction.


def graded(rng, instructions):
    of_response = np.repeat(np.arange(instructions), TASKS_EACH)
    level = rng.normal(scale=0.8, size=instructions)[of_response] + rng.normal(scale=0.6, size=of_response.size)
    odd = rng.normal(scale=0.4, size=instructions)[of_response]
    judge = np.digitize(level + odd + rng.normal(scale=0.5, size=level.size), [-1.2, -0.4, 0.4, 1.2]) / 4
    own = level[:, None] + rng.normal(scale=0.7, size=(level.size, 3))
    return judge, (np.digitize(own, [-1.2, -0.4, 0.4, 1.2]) / 4).mean(axis=1), of_response


def graded_design(instructions: int, end: str):
    judge, people, _ = graded(np.random.default_rng(SEED), 300_000)
    endless = soft_verdicts(judge, people)
    groups = {group.low: group.people.value for group in endless.groups}

    def draw(rng, resamples, clustered):
        judge, people, of_response = graded(rng, instructions)
        clusters = of_response if clustered else None
        found = soft_verdicts(judge, people, clusters=clusters, draws=resamples, seed=seed_of(rng))
        inside = [stated(one.people, groups[one.low]) for one in found.groups]
        return {
            f"graded verdicts, slope{end}": held(found.slope.low, found.slope.high, endless.slope.value),
            f"graded verdicts, offset{end}": held(found.offset.low, found.offset.high, endless.offset.value),
            f"people's share at a verdict{end}": np.concatenate(inside),
            f"graded verdicts, mean error{end}": held(0.0, found.error.high, endless.error.value),
        }

    return draw


def clusters() -> list[Design]:
    """The designs of this file, whose rows come in clusters."""
    rows = f"{RESPONSES} responses x {RATERS} raters"
    lines = [
        Design(
            f"{k} instructions x {rows}, 5 items",
            {f"weights, {k} instructions": EXACT, f"R2, {k} instructions": EXACT},
            weights_design(k, WEIGHTS, (f"weights, {k} instructions", f"R2, {k} instructions")),
        )
        for k in (40, 100)
    ]
    lines.append(
        Design(
            f"60 instructions x {rows}, 2 of 5 true weights at the floor",
            {"weights at the floor": AT_LEAST, "R2 at the floor": AT_LEAST},
            weights_design(60, AT_FLOOR, ("weights at the floor", "R2 at the floor")),
        )
    )
    agreement = [f"alpha, {metric}" for metric in METRICS] + ["leave-one-out, inner", "leave-one-out, outer"]
    lines += [
        Design("80 instructions x 3 tasks x 3 raters", dict.fromkeys(agreement, EXACT), agreement_design(80)),
        Design("100 instructions x 3 responses", {"Pearson of judge and people": EXACT}, pearson_design(100)),
        Design(
            f"60 instructions x 10 pairs of 5 models x {PAIR_RATERS} raters",
            {"Bradley-Terry differences": EXACT, "rank intervals": AT_LEAST},
            bradley_terry_design(60),
        ),
        Design(
            "300 human scores of 100 instructions, 9,999 judge scores",
            {"prediction-powered mean": EXACT, "prediction-powered difference": EXACT},
            powered_design(),
        ),
        Design(
            "3 categories x 40 instructions x 4 answers",
            {"model mean scores": EXACT, "scores by category": EXACT},
            means_design(40),
        ),
        *(
            Design(
                "6 models, 3 categories x 40 instructions",
                {
                    f"lead of the first over the second, {which}": EXACT if which == "one ahead" else AT_LEAST,
                    f"two models compared, {which}": EXACT,
                    f"two models compared by category, {which}": EXACT,
                },
                leads_design(40, which),
                rows_fail=False,
            )
            for which in ABILITIES
        ),
        Design("40 items x 5 criteria, 97 % right", {"accuracy near 1": AT_LEAST}, boundary_design(40)),
    ]
    for k, clear in ((20, 1.0), (60, 1.0), (60, 4.0)):
        end = f", {k} instructions{', clear pairs' if clear > 1 else ''}"
        promises = {f"{name}{end}": AT_LEAST for name in SHARES}
        if k > 20:  # where both sides, or neither, are of the family, nothing is counted: 20 instructions leave too few
            promises |= {f"{name}{end}": EXACT for name in FAMILY_POINTS}
        promises[f"length bias rate{end}"] = EXACT
        text = f"{k} instructions x {PAIRS_EACH} pairs"
        lines.append(Design(text, promises, swayed_design(k, clear, end)))
    for k, findings, rate in ((20, 15, 0.8), (60, 15, 0.8), (60, 15, 0.97), (20, 3, 0.95), (60, 1, 0.97)):
        name = f"reasonable rate {100 * rate:.0f} %, {k} instructions x {findings}"
        text = f"{k} instructions x {findings} findings"
        draw = reasonable_design(k, findings, rate, name)
        lines.append(Design(text, {name: AT_LEAST}, draw, rows_fail=findings > 1))
    for labelled, rule, what in (
        (7, HELLOBENCH, "mean of categories"),
        (20, HELLOBENCH, "mean of categories"),
        (20, PointsRule(0.0, 1.0, pooled=True), "pooled ratio"),
    ):
        name = f"corrected score, {what}, {3 * labelled} instructions"
        text = f"3 categories x {labelled} + 200 instructions x 2 answers"
        promise = EXACT if labelled >= 20 else AT_LEAST  # the error of few instructions a category is understated
        lines.append(Design(text, {name: promise}, corrected_design(labelled, rule, name)))
    for k in (20, 60):
        end = f", {k} instructions"
        promises = {
            f"graded verdicts, slope{end}": EXACT,
            f"graded verdicts, offset{end}": EXACT,
            f"graded verdicts, mean error{end}": AT_LEAST,
        }
        if k > 20:
            promises[f"people's share at a verdict{end}"] = EXACT
        lines.append(Design(f"{k} instructions x 3 responses x 3 people", promises, graded_design(k, end)))
    lines += [
        Design(
            f"{n} repeats, 60 to 95 % agree",
            {f"repeat agreement, {n} repeats": AT_LEAST},
            repeats_design(n),
            rows_fail=False,
        )
        for n in (10, 20, 30)
    ]
    return lines


MODULES = {
    "agreement": agreement,
    "raters": raters,
    "weights": weights,
    "rankings": rankings,
    "judges": judges,
    "panels": panels,
    "stopping": stopping,
    "planning": planning,
}
TOPICS = ("clusters", *MODULES)


def designs_of(topic: str) -> tuple[list[Design], list[NullDesign]]:
    """The designs of a topic, and those in which there is nothing to find."""
    if topic == "clusters":
        return clusters(), []
    return MODULES[topic].designs(), MODULES[topic].null_designs()


def measure_coverage(topic: str, designs: list[Design], store: Store, arguments) -> list[Measured]:
    """The coverage of every line asked for."""
    found: list[Measured] = []
    for place, design in enumerate(designs):
        if not any(text in name for text in arguments.only for name in design.promises):
            continue
        one = measured_design(store, topic, place, design, arguments.draws, arguments.resamples, SEED)
        for name, (least, most) in design.promises.items():
            coverage = one.shares[name]
            promise = f"{100 * least:.0f} to {100 * most:.0f} %" if most < 1 else f"at least {100 * least:.0f} %"
            beside = f", rows {100 * one.rows[name]:.1f} %" if one.rows else ""
            beside += f", width {one.widths[name]:.2f}" if name in one.widths else ""
            verdict = "kept" if least <= coverage <= most else "NOT KEPT"
            print(f"{name:46} {100 * coverage:5.1f} %  {promise:16} {verdict:8}  {design.text}{beside}", flush=True)
        print(f"    {one.seconds:.0f} s", file=sys.stderr, flush=True)
        found.append(one)
    return found


def measure_false_claims(topic: str, designs: list[NullDesign], store: Store, arguments) -> list[Measured]:
    """For every null design asked for, the share of studies with a false claim: by finding, and of any finding."""
    found: list[Measured] = []
    for place, design in enumerate(designs):
        if not any(text in name for text in arguments.only for name in design.findings):
            continue
        one = false_claims(store, topic, place, design, arguments.draws, SEED + 1000)
        for name in design.findings:
            share = one.shares[name]
            verdict = "kept" if share <= MOST_FALSE_CLAIMS else "NOT KEPT"
            promise = f"at most {100 * MOST_FALSE_CLAIMS:.0f} %"
            print(f"{'claims: ' + name:46} {100 * share:5.1f} %  {promise:16} {verdict:8}  {design.text}", flush=True)
        print(f"    {one.seconds:.0f} s", file=sys.stderr, flush=True)
        found.append(one)
    return found


def estimate(arguments) -> None:
    """Print how many minutes each topic would take on one core."""
    for topic in arguments.topic:
        designs, nulls = designs_of(topic)
        seconds = sum(estimated_seconds(one, arguments.draws, arguments.resamples) for one in (*designs, *nulls))
        print(f"{topic:12} {seconds / 60:6.0f} minutes for {arguments.draws:,} data sets a line", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000, help="data sets a line (2,000 for a promise)")
    parser.add_argument("--resamples", type=int, default=1000, help="bootstrap samples an interval")
    parser.add_argument("--topic", nargs="+", choices=TOPICS, default=list(TOPICS), help="only lines of these topics")
    parser.add_argument("--only", nargs="+", default=[""], help="only lines whose quantity holds one of these texts")
    parser.add_argument("--store", type=Path, help="note what is measured in this file, and measure nothing twice")
    parser.add_argument("--estimate", action="store_true", help="only say how long each topic would take")
    arguments = parser.parse_args()
    if arguments.estimate:
        estimate(arguments)
        return
    store = Store(arguments.store)
    measured: list[Measured] = []
    claimed: list[Measured] = []
    promises: dict[str, tuple[float, float]] = {}
    for topic in arguments.topic:
        designs, nulls = designs_of(topic)
        measured += measure_coverage(topic, designs, store, arguments)
        claimed += measure_false_claims(topic, nulls, store, arguments)
        promises |= {name: promise for design in designs for name, promise in design.promises.items()}
    coverages = [(name, share) for one in measured for name, share in one.shares.items()]
    claims = [share for one in claimed for share in one.shares.values()]
    result: dict[str, float | int] = {"lines": len(coverages) + len(claims)}
    if coverages:
        kept = sum(promises[name][0] <= share <= promises[name][1] for name, share in coverages)
        shares = [share for _name, share in coverages]
        result |= {"promised": len(coverages), "kept": kept}
        result |= {"min": round(100 * min(shares), 2), "max": round(100 * max(shares), 2)}
    if claims:
        any_claim = max(one.any_claim for one in claimed)
        result |= {"false_claims": round(100 * max(claims), 2), "any_claim": round(100 * any_claim, 2)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
