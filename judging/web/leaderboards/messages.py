"""The name, meaning and source of each leaderboard measure, in the reader's language."""

from dataclasses import dataclass

from django.utils.translation import gettext

from judging.scores.metrics import FULFILLED, GRADED, MEAN, POINTS, REWARD, STARS, WINS


@dataclass(frozen=True)
class MeasureWords:
    """`axis` labels a figure of overall scores; `method` and `source` are shown at the end of the page."""

    name: str
    overall: str
    axis: str
    method: str
    source: str


def words_of(measure: str) -> MeasureWords:
    return {
        POINTS: _points,
        STARS: _stars,
        GRADED: _graded,
        MEAN: _mean,
        WINS: _wins,
        REWARD: _reward,
        FULFILLED: _fulfilled,
    }[measure]()


def _points() -> MeasureWords:
    return MeasureWords(
        gettext("checklist points (HelloBench)"),
        gettext("Average"),
        gettext("Mean of the category scores; 100 is perfect"),
        gettext(
            "A response's points are the weighted mean of the judge's checklist answers, each mapped to 0 to 1, "
            "times 100; items that do not apply are excluded from both sums. A category's score is (mean points − "
            "75) × 4, so 100 is perfect and 0 corresponds to 75 points. The average is the unweighted mean of the "
            "categories, without intermediate rounding. A verdict that could not be used is excluded and counted, "
            "never set to zero."
        ),
        gettext(
            "Source: HelloBench (arXiv 2409.16191), equation 1 and table 2; with equal weights the points are its AVG-C."
        ),
    )


def _stars() -> MeasureWords:
    return MeasureWords(
        gettext("share of full marks (LLMEval-2)"),
        gettext("Total"),
        gettext("Total: mean over the categories of the share of full marks"),
        gettext(
            "A category's score is 100 × (sum of stars)/(sum of full marks) over all its responses and criteria; "
            "the total is the unweighted mean of the categories. A verdict that could not be used is excluded and "
            "counted."
        ),
        gettext("Source: LLMEval (arXiv 2312.07398), the second stage."),
    )


def _graded() -> MeasureWords:
    return MeasureWords(
        gettext("score of 1 to 10 (WildBench)"),
        gettext("Score"),
        gettext("Score over all tasks; 100 is the maximum"),
        gettext(
            "A score is (mean grade − 5) × 20, for grades from 1 to 10: 100 is the maximum, −80 the minimum. The "
            "overall score is computed over all tasks at once. A verdict that could not be used is excluded and "
            "counted."
        ),
        gettext("Source: WildBench (arXiv 2406.04770), table 2; the × 2 in its text refers to a single item."),
    )


def _mean() -> MeasureWords:
    return MeasureWords(
        gettext("mean overall score"),
        gettext("Mean"),
        gettext("Mean of the categories' mean overall scores"),
        gettext(
            "A category's score is the mean of the judge's overall scores on their own scale; the overall mean is "
            "the unweighted mean of the categories. A verdict that could not be used is excluded and counted."
        ),
        gettext("Source: HelloBench (arXiv 2409.16191), figures 12 and 13."),
    )


def _wins() -> MeasureWords:
    return MeasureWords(
        gettext("expected win rate (HREF)"),
        gettext("Win rate"),
        gettext("Wins plus half the ties, in percent of comparisons"),
        gettext(
            "A model's expected win rate is its wins plus half its ties, divided by all its comparisons with a "
            "usable verdict, against the chosen models or against all. “Both bad” counts as a tie."
        ),
        gettext("Source: HREF (arXiv 2412.15524), 4.2; its appendix E counts a tie as a win."),
    )


def _reward() -> MeasureWords:
    return MeasureWords(
        gettext("reward (WildBench)"),
        gettext("Reward"),
        gettext("Mean reward × 100; 0 means even"),
        gettext(
            "A comparison counts as +1, +0.5, 0, −0.5 or −1, from much better to much worse; the reward is the "
            "mean times 100. With a length margin of K characters, a slight win or loss counts as a tie if the "
            "winner is longer by more than K. With several baselines, the overall reward is the mean over them; a "
            "baseline compared with itself counts as 0."
        ),
        gettext("Source: WildBench (arXiv 2406.04770), 3.2; its text omits the minus signs of the losses."),
    )


def _fulfilled() -> MeasureWords:
    return MeasureWords(
        gettext("instructions fulfilled (LongGenBench)"),
        gettext("STIC-2"),
        gettext("Fulfilled instructions, in percent of all"),
        gettext(
            "STIC-2 is the share of all instructions that the output fulfils; an instruction whose part is missing"
            " counts as not fulfilled. STIC-1 covers only instructions whose part is present. The completion rate "
            "is the share of the requested parts that are present, and the weighted average is completion rate × "
            "STIC-2. Counts are pooled over outputs; a verdict that could not be used is in none of them."
        ),
        gettext("Source: LongGenBench (arXiv 2409.02076), 2.4."),
    )
