"""The menus of a leaderboard's page: what can be chosen for a benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from generation.models import MAIN_EXPERIMENT, Benchmark, Category, Instruction, LanguageModel
from judging.leaderboards.query import BoardQuery
from judging.leaderboards.table import Leaderboard
from judging.web.leaderboards.messages import words_of

LANGUAGES = {"en": "English", "zh": "中文", "zh-hans": "中文（简体）"}


@dataclass(frozen=True)
class Menu:
    """A query's name, its label, the options (value, label) and the chosen ones; several if `many`."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    chosen: Sequence[str]
    many: bool = False


@dataclass(frozen=True)
class BoardChoices:
    """`main` is always visible; `filters` are folded unless one is in use; `sizes` if the models' sizes are known."""

    main: list[Menu]
    filters: list[Menu]
    sizes: bool
    margin: bool
    filtered: bool


def board_choices(benchmark: Benchmark, board: Leaderboard | None, query: BoardQuery) -> BoardChoices:
    everything = ("", gettext("all"))
    instructions = Instruction.objects.filter(benchmark=benchmark).order_by()
    languages = sorted(set(instructions.exclude(language="").values_list("language", flat=True)))
    tags = sorted(
        {str(tag) for row in instructions.exclude(tags=[]).values_list("tags", flat=True) for tag in row or []}
    )
    models = LanguageModel.objects.filter(responses__instruction__benchmark=benchmark).distinct()
    families = sorted(set(models.exclude(family="").values_list("family", flat=True)))
    paired = board is not None and board.measure.paired
    main = []
    experiments, experiment = _experiments(benchmark), query.experiment or MAIN_EXPERIMENT
    if len(experiments) > 1:
        main.append(Menu("experiment", gettext("Experiment"), [(one, one) for one in experiments], [experiment]))
    if board is not None and len(board.measures) > 1:
        options = [(one.name, words_of(one.name).name) for one in board.measures]
        main.append(Menu("measure", gettext("Score"), options, [board.measure.name]))
    filters = [Menu("category", gettext("Category"), [everything, *_categories(benchmark)], [query.category])]
    if len(languages) > 1:
        named = [(one, LANGUAGES.get(one, one)) for one in languages]
        filters.append(Menu("language", gettext("Language"), [everything, *named], [query.language]))
    if tags:
        filters.append(Menu("tag", gettext("Tag"), [everything, *((one, one) for one in tags)], [query.tag]))
    if len(families) > 1:
        filters.append(
            Menu("family", gettext("Model family"), [everything, *((one, one) for one in families)], [query.family])
        )
    if paired:
        names = sorted(models.values_list("name", flat=True))
        filters.append(Menu("against", gettext("Baselines"), [(one, one) for one in names], query.against, many=True))
    return BoardChoices(
        main,
        filters,
        sizes=models.filter(billions_of_parameters__isnull=False).exists(),
        margin=board is not None and board.measure.name == "reward",
        filtered=bool(
            query.narrows
            or query.family
            or query.against
            or query.least
            or query.smallest is not None
            or query.largest is not None
            or query.margin is not None
        ),
    )


def _categories(benchmark: Benchmark) -> list[tuple[str, str]]:
    """The top categories that have subcategories, or all if none has; then the leaves."""
    rows = list(Category.objects.filter(benchmark=benchmark).select_related("parent"))
    tops = [row for row in rows if row.parent is None]
    found = [(row.key, row.name) for row in tops]
    for top in tops:
        found += [(str(row), f"{top.name} · {row.name}") for row in rows if row.parent_id == top.pk]
    return found


def _experiments(benchmark: Benchmark) -> list[str]:
    """The main experiment first, then the others with runs."""
    found = set(benchmark.generation_runs.values_list("experiment", flat=True)) - {MAIN_EXPERIMENT}
    return [MAIN_EXPERIMENT, *sorted(found)]
