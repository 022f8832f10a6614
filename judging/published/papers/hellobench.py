"""HelloBench's printed tables (arXiv 2409.16191): 2 to 8 and 17 to 24."""

from collections.abc import Callable, Sequence

from accounts.models import Workspace
from judging.published.hellobench import benchmark, methods, people, scores
from judging.published.hellobench.lookup import SLUG, printed_figures
from judging.published.paper_table import Cell, PaperTable

COMPUTED: dict[str, Callable[[Workspace], Sequence[Cell]]] = {
    "2": scores.main_results,
    "3": scores.by_length,
    "4": methods.correlations,
    "5": people.long_rates,
    "6": people.long_matrix,
    "7": benchmark.instruction_counts,
    "8": benchmark.instruction_words,
    "17": benchmark.weights,
    "18": people.annotators,
    "19": benchmark.fits,
    "20": people.reasonable,
    "21": people.reviewers,
    "22": people.win_rates,
    "23": scores.long_context,
    "24": methods.mean_scores,
}


def _tables() -> tuple[PaperTable, ...]:
    published = printed_figures()
    authors = published["source"].rsplit(":", 1)[0]
    titles = {number: published["titles"].get(f"table_{number}") for number in COMPUTED}
    return tuple(
        PaperTable(
            SLUG, number, titles[number] or published[f"table_{number}"]["title"], f"{authors}, table {number}", compute
        )
        for number, compute in COMPUTED.items()
    )


TABLES: tuple[PaperTable, ...] = _tables()
