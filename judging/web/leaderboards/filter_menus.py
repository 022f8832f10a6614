"""The menus of a leaderboard's page: what can be chosen for a benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from calibration.models import Fit
from generation.models import MAIN_EXPERIMENT, Benchmark, Category, Instruction, LanguageModel
from judging.leaderboards.filters import TAGS, Filters
from judging.leaderboards.table import Leaderboard
from judging.leaderboards.weighting import EQUAL, fit_name, fits_for, most_exact
from judging.web.leaderboards.messages import metric_messages

LARGEST_MARGIN = 3000
LANGUAGES = {"en": "English", "zh": "中文", "zh-hans": "中文（简体）"}


@dataclass(frozen=True)
class Menu:
    """A filter's name, its label, the options (value, label) and the chosen ones; several if `many`."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    chosen: Sequence[str]
    many: bool = False


@dataclass(frozen=True)
class BoardChoices:
    """`main` is always visible; `filters` are folded unless one is in use; `sizes` if the models' sizes are known.

    `group_weights` are those of the groups of tasks on the board, as its address writes them; `margin_off` is the right
    end of the slider of length margins, which stands for none.
    """

    main: list[Menu]
    filters: list[Menu]
    sizes: bool
    margin: bool
    filtered: bool
    group_weights: str = ""
    margin_off: int = LARGEST_MARGIN + 1


def board_choices(benchmark: Benchmark, board: Leaderboard | None, filters: Filters) -> BoardChoices:
    everything = ("", gettext("all"))
    instructions = Instruction.objects.filter(benchmark=benchmark).order_by()
    languages = sorted(set(instructions.exclude(language="").values_list("language", flat=True)))
    tags = sorted(
        {str(tag) for row in instructions.exclude(tags=[]).values_list("tags", flat=True) for tag in row or []}
    )
    models = LanguageModel.objects.answering(benchmark)
    tops = Category.objects.filter(benchmark=benchmark, parent=None).count()
    families = sorted(set(models.exclude(family="").values_list("family", flat=True)))
    paired = board is not None and board.metric.paired
    main = []
    experiments, experiment = _experiments(benchmark), filters.run_experiment
    if len(experiments) > 1:
        main.append(Menu("experiment", gettext("Experiment"), _plain(experiments), [experiment]))
    if board is not None and len(board.metrics) > 1:
        options = [(metric.name, metric_messages(metric.name).name) for metric in board.metrics]
        main.append(Menu("measure", gettext("Score"), options, [board.metric.name]))
    menus = [Menu("category", gettext("Category"), [everything, *_categories(benchmark)], [filters.category])]
    if len(languages) > 1:
        named = [(code, LANGUAGES.get(code, code)) for code in languages]
        menus.append(Menu("language", gettext("Language"), [everything, *named], [filters.language]))
    if tags:
        menus.append(Menu("tag", gettext("Tag"), [everything, *_plain(tags)], [filters.tag]))
    if tags and tops > 1:
        options = [("", gettext("one category")), (TAGS, gettext("the group of each of its tags"))]
        menus.append(Menu("groups", gettext("A task counts in"), options, [filters.groups]))
    if len(families) > 1:
        menus.append(Menu("family", gettext("Model family"), [everything, *_plain(families)], [filters.family]))
    if paired:
        names = sorted(models.values_list("name", flat=True))
        menus.append(Menu("against", gettext("Baselines"), _plain(names), filters.against, many=True))
    return BoardChoices(
        main,
        menus,
        sizes=models.filter(billions_of_parameters__isnull=False).exists(),
        margin=board is not None and board.metric.name == "reward",
        filtered=bool(
            filters.narrows
            or filters.family
            or filters.against
            or filters.least
            or filters.smallest is not None
            or filters.largest is not None
            or filters.margin is not None
            or filters.groups
        ),
        margin_off=max(LARGEST_MARGIN, filters.margin or 0) + 1,
        group_weights=_group_weights(board) if board is not None and filters.groups else filters.group_weights,
    )


def _group_weights(board: Leaderboard) -> str:
    return ",".join(f"{key}={board.weights.get(pk, 1.0):g}" for pk, key in board.categories.items())


def _categories(benchmark: Benchmark) -> list[tuple[str, str]]:
    """The top categories that have subcategories, or all if none has; then the leaves."""
    rows = list(Category.objects.filter(benchmark=benchmark).select_related("parent"))
    tops = [row for row in rows if row.parent is None]
    leaves = [(str(row), f"{top.name} · {row.name}") for top in tops for row in rows if row.parent_id == top.pk]
    return [*((row.key, row.name) for row in tops), *leaves]


def _experiments(benchmark: Benchmark) -> list[str]:
    """The main experiment first, then the others with runs."""
    others = set(benchmark.generation_runs.values_list("experiment", flat=True)) - {MAIN_EXPERIMENT}
    return [MAIN_EXPERIMENT, *sorted(others)]


def _plain(values: Sequence[str]) -> list[tuple[str, str]]:
    """Options that are shown as they are."""
    return [(value, value) for value in values]


def weights_choices(benchmark: Benchmark) -> list[tuple[str, str]]:
    """Return (name in the address, label) of each, published ones first."""
    choices = []
    for fit in fits_for(benchmark):
        if fit.kind == Fit.Kind.PUBLISHED:
            label = gettext("published: %(name)s") % {"name": fit.published_name or fit.source}
        else:
            made = fit.created_at.strftime("%Y-%m-%d %H:%M")
            label = gettext("fitted: %(study)s, %(made)s") % {
                "study": fit.study.name if fit.study else "",
                "made": made,
            }
            label += f" · {fit.published_name}" if fit.published_name else ""
        choices.append((fit_name(fit), label))
    return [*choices, (EQUAL, gettext("equal weights (AVG-C)"))]


def default_weights(benchmark: Benchmark) -> str:
    """Return the published weights if there are any, else the newest fit, else equal weights."""
    fits = fits_for(benchmark)
    published = most_exact([fit for fit in fits if fit.kind == Fit.Kind.PUBLISHED])
    chosen = published or (fits[0] if fits else None)
    return fit_name(chosen) if chosen else EQUAL
