"""What a leaderboard's measure is called, what it means and where it comes from, in the reader's language."""

from dataclasses import dataclass

from django.utils.translation import gettext

from judging.scores.metrics import FULFILLED, GRADED, MEAN, POINTS, REWARD, STARS, WINS


@dataclass(frozen=True)
class MeasureWords:
    """`axis` labels a figure of overall scores; `method` and `source` stand beneath the page."""

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
        gettext("Average of the categories' scores; 100 is perfect"),
        gettext(
            "A response's points are the weighted mean of the judge's checklist answers, each mapped to 0 to 1, times "
            "100; items that do not apply are left out of both sums. A category's score is (mean points − 75) × 4, so "
            "100 is perfect and 0 stands for 75 points. The average is the unweighted mean of the categories, not "
            "rounded on the way. A verdict that could not be used is left out and counted, never set to zero."
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
            "A category's score is 100 × (sum of stars)/(sum of full marks) over all its responses and criteria; the "
            "total is the unweighted mean of the categories. A verdict that could not be used is left out and counted."
        ),
        gettext("Source: LLMEval (arXiv 2312.07398), the second stage."),
    )


def _graded() -> MeasureWords:
    return MeasureWords(
        gettext("score of 1 to 10 (WildBench)"),
        gettext("Score"),
        gettext("Score over all tasks; 100 is best"),
        gettext(
            "A score is (mean grade − 5) × 20 of grades from 1 to 10: 100 at best, −80 at worst. The overall score is "
            "over all tasks at once. A verdict that could not be used is left out and counted."
        ),
        gettext("Source: WildBench (arXiv 2406.04770), table 2; its text's × 2 is for one item."),
    )


def _mean() -> MeasureWords:
    return MeasureWords(
        gettext("mean overall score"),
        gettext("Mean"),
        gettext("Mean of the categories' mean overall scores"),
        gettext(
            "A category's score is the mean of the judge's overall scores on their own scale; the overall mean is the "
            "unweighted mean of the categories. A verdict that could not be used is left out and counted."
        ),
        gettext("Source: HelloBench (arXiv 2409.16191), figures 12 and 13."),
    )


def _wins() -> MeasureWords:
    return MeasureWords(
        gettext("expected win rate (HREF)"),
        gettext("Win rate"),
        gettext("Wins and half the ties, percent of comparisons"),
        gettext(
            "A model's expected win rate is its wins and half its ties over all its comparisons with a usable verdict, "
            "against the models chosen or against all. Both bad counts as a tie."
        ),
        gettext("Source: HREF (arXiv 2412.15524), 4.2; its appendix E counts a tie as a win."),
    )


def _reward() -> MeasureWords:
    return MeasureWords(
        gettext("reward (WildBench)"),
        gettext("Reward"),
        gettext("Mean reward × 100; 0 is even"),
        gettext(
            "A comparison counts +1, +0.5, 0, −0.5 or −1 from much better to much worse; the reward is 100 × its mean. "
            "With a length margin of K characters a slight win or loss is a tie where the winner is longer by more than "
            "K. Against several baselines the overall reward is the mean over them, a baseline against itself counting 0."
        ),
        gettext("Source: WildBench (arXiv 2406.04770), 3.2; its text prints the losses without a sign."),
    )


def _fulfilled() -> MeasureWords:
    return MeasureWords(
        gettext("instructions fulfilled (LongGenBench)"),
        gettext("STIC-2"),
        gettext("Instructions fulfilled, percent of all"),
        gettext(
            "STIC-2 is the share of all instructions that the output fulfils; one whose part is missing counts as not "
            "fulfilled. STIC-1 counts only instructions whose part is there, the completion rate is the share of the parts "
            "asked for that are there, and the weighted average is completion rate × STIC-2. Counts are pooled over "
            "outputs; a verdict that could not be used is in none of them."
        ),
        gettext("Source: LongGenBench (arXiv 2409.02076), 2.4."),
    )
