"""All formats that are written, by the name that commands, pages and the API give them. PURE."""

from core.errors import UserError
from core.messages.message import Wording
from judging.formats.alpaca_eval import ALPACA_EVAL
from judging.formats.arena import ARENA
from judging.formats.argilla import ARGILLA
from judging.formats.dataset_card import HUGGING_FACE
from judging.formats.inspect_scores import INSPECT_SCORES
from judging.formats.label_studio import LABEL_STUDIO
from judging.formats.one_score import ALT_TEST, CJE
from judging.formats.openai_batch import OPENAI_BATCH
from judging.formats.preference_pairs import PREFERENCE_PAIRS
from judging.formats.scores import LANGFUSE, MLFLOW, OPENTELEMETRY
from judging.formats.writer import ANY, PAIR, Writer

NO_WRITER = Wording("formats.no_writer", "There is no format %(name)s; the formats are %(known)s.")
PAIRS_ONLY = Wording(
    "formats.pairs_only", "This study rates single responses, for which %(format)s has no room: use %(others)s."
)
SINGLE_ONLY = Wording(
    "formats.single_only", "This study compares pairs of responses, for which %(format)s has no room: use %(others)s."
)

WRITERS = {
    each.key: each
    for each in (
        INSPECT_SCORES,
        LABEL_STUDIO,
        ALPACA_EVAL,
        ARENA,
        ARGILLA,
        PREFERENCE_PAIRS,
        LANGFUSE,
        MLFLOW,
        OPENTELEMETRY,
        CJE,
        ALT_TEST,
        HUGGING_FACE,
        OPENAI_BATCH,
    )
}


def writer_named(name: str) -> Writer:
    """Return the writer of this name. Raises UserError."""
    if name not in WRITERS:
        raise UserError(NO_WRITER(name=repr(name), known=", ".join(WRITERS)))
    return WRITERS[name]


def writers_for(*, pairs: bool) -> list[Writer]:
    """Return the formats that can hold a study's answers."""
    return [each for each in WRITERS.values() if each.tasks == ANY or (each.tasks == PAIR) == pairs]


def check_tasks(writer: Writer, *, pairs: bool) -> None:
    """Raise UserError where the format has no room for a study's answers."""
    fitting = writers_for(pairs=pairs)
    if writer not in fitting:
        wording = SINGLE_ONLY if pairs else PAIRS_ONLY
        raise UserError(wording(format=writer.name, others=", ".join(each.key for each in fitting)))
