"""How long each piece of work over a text takes at worst, over families of texts that were written to be slow.

    python tests/benchmarks/hostile_texts.py [--characters 100000] [--path WORD] [--family WORD] [--seconds 5] [--all]

Every path that a page, an API call or a judge's reply can reach runs over every family, a pair's paths also over
shuffled and changed copies. Prints a row for each path: the family in which it is slowest, the milliseconds of processor
time, and how many times that is what str.split takes for an ordinary text of this length, measured in the same run. With
--all every family is printed. A run is stopped after --seconds. The last line is JSON: {"floor_ms", "worst_ms", "path",
"family", "over": how many path and family pairs took more than 300 ms}. It needs no database.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Installed packages bring a "tests" of their own, which would come before a folder without __init__.py.
sys.modules["tests"] = own = types.ModuleType("tests")
own.__path__ = [str(ROOT / "tests")]

from tests.hostile_families import FAMILIES, copies, prose

LIMIT_MS = 300
SEED = 9

Single = Callable[[str], object]
Pair = Callable[[str, str], object]


def single_paths() -> dict[str, Single]:
    """The work over one text, by what a reader would call it."""
    from annotation.rules import degrading, subtasks
    from annotation.rules.quoting import TextMap
    from annotation.rules.self_naming import find_self_naming
    from annotation.texts import rendering
    from generation.endpoints import probing, registration as serving
    from generation.importers.hellobench import read_evaluation
    from generation.importers.instructions import requirements_in
    from generation.llm.errors import said_plainly
    from generation.llm.protocol import token_limits as allowance, wrapping
    from generation.text_metrics import counts as textmetrics, overlap, refusals
    from judging.methods import prompts
    from judging.methods.prompts import Item, Level

    levels = tuple(Level(value, str(value)) for value in (-1, 0, 1))
    items = (Item("clear", "Is it clear?", levels), Item("right", "Is it right?", levels))

    def quotations(text: str) -> object:
        rendered = rendering._rendered(text)
        yield_time()
        return TextMap(text, rendered.blocks, rendered.starts)

    def template(text: str) -> object:
        return prompts.render(text, {"response": "x"}, ())

    return {
        "Markdown rendering": lambda text: rendering._rendered(text),
        "places of quotations": quotations,
        "panes of a response": lambda text: panes((text,)),
        "self-naming": lambda text: find_self_naming(text, ("meta-llama/Zephyr-7B", "Zephyr")),
        "sub-tasks (Week)": lambda text: subtasks.subtasks_in(text, "Week"),
        "sub-tasks (周)": lambda text: subtasks.subtasks_in(text, "周"),
        "numbers of sub-tasks": lambda text: subtasks.read_numbers(text),
        "control: cut": lambda text: degrading.degrade(text, degrading.Damage.CUT, random.Random(1)),
        "control: doubled": lambda text: degrading.degrade(text, degrading.Damage.DOUBLED, random.Random(1)),
        "control: swapped": lambda text: degrading.degrade(text, degrading.Damage.SWAPPED, random.Random(1)),
        "words counted": textmetrics.word_count,
        "repetition": textmetrics.repetition_4,
        "repeated sentence": textmetrics.most_repeated_sentence,
        "refusal": refusals.opens_with_refusal,
        "language": lambda text: (rendering.language_of(text), wrapping.is_chinese(text)),
        "METEOR with itself": lambda text: overlap.meteor(text, text),
        "checklist reply": lambda text: read_reply(text, items),
        "reply of one answer": lambda text: read_one_reply(text, items[0]),
        "stored HelloBench verdict": read_evaluation,
        "stored message": lambda text: for_reader(text),
        "a judge's prompt": template,
        "hash and tokens of a prompt": lambda text: (
            prompts.prompt_hash(text.encode(errors="replace").decode()),
            prompts.estimated_tokens(text),
            prompts.marker("A", text),
        ),
        "words of a server": lambda text: (allowance.told_by(text), said_plainly("<" + text)),
        "a probe's reply": probing.obeys,
        "a key's name": serving.looks_like_a_key,
        "a table's requirements": requirements_in,
        "a table's JSON line": lambda text: table_rows(text, ".jsonl"),
        "a table's CSV": lambda text: table_rows(text, ".csv"),
        "a form's JSON": form_json,
        "a form's quotations": quoted_form,
        "an excerpt on a page": excerpt,
    }


def pair_paths() -> dict[str, Pair]:
    """The work over two texts."""
    from annotation.rules import alignment
    from annotation.texts import rendering
    from generation.text_metrics import overlap
    from judging.methods.line_diff import line_diff
    from judging.methods.single.overlap import rouge_1

    def sections(text: str, other: str) -> object:
        outlines = [[heading.text for heading in rendering._rendered(one).outline] for one in (text, other)]
        yield_time()
        return alignment.align_sections(*outlines)

    return {
        "panes of a pair": lambda text, other: panes((text, other)),
        "sections aligned": sections,
        "near copies": alignment.is_near_duplicate,
        "word differences": alignment.word_diff,
        "word differences shown": differences,
        "line differences": line_diff,
        "BLEU": lambda text, other: overlap.bleu([text], [[other]]),
        "ROUGE-L": lambda text, other: overlap.rouge_l(text, other),
        "ROUGE-1": rouge_1,
        "METEOR": overlap.meteor,
    }


def panes(texts: tuple[str, ...]) -> object:
    """The HTML of a rating page's responses, which is what a rater waits for."""
    from types import SimpleNamespace

    from django.template.loader import render_to_string

    from annotation.web.rating.screens import panes_of

    screen = SimpleNamespace(layout="pair" if len(texts) == 2 else "single", part="")
    return [
        render_to_string("annotation/_pane.html", {"pane": pane, "screen": screen, "paragraph": 0})
        for pane in panes_of(texts)
    ]


def differences(text: str, other: str) -> object:
    from django.template.loader import render_to_string

    from annotation.rules.alignment import word_diff

    return render_to_string("annotation/differences.html#text", {"changes": word_diff(text, other)})


def read_reply(text: str, items: object) -> object:
    from judging.methods.parsing import read_answers

    return read_answers(text, items)  # type: ignore[arg-type]


def read_one_reply(text: str, item: object) -> object:
    from judging.methods.parsing_one_answer import read_one

    return read_one(text, item, ("score", "value"), finish_reason="stop")  # type: ignore[arg-type]


def for_reader(text: str) -> object:
    from core.messages.message import from_json
    from core.messages.rendering import for_reader

    return for_reader(from_json({"code": "call.not_json", "params": {"words": text}}))


def table_rows(text: str, ending: str) -> object:
    from core.tables.bad_rows import BadRow
    from core.tables.reading import read_rows

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        start = "a,b\n" if ending == ".csv" else ""
        path.write_text(start + text, encoding="utf-8", errors="replace", newline="")
        yield_time()
        try:
            return list(read_rows(path, (), lambda problem: None))
        except BadRow as problem:
            return problem


def form_json(text: str) -> object:
    from django import forms

    from generation.web.endpoints.forms import ParametersField

    try:
        return ParametersField().clean(text)
    except forms.ValidationError as error:
        return error


def quoted_form(text: str) -> object:
    from annotation.answers.evidence import Quotations, UnreadableQuotation

    try:
        return Quotations.read(text, ("a text", "another"))
    except UnreadableQuotation as error:
        return error


def excerpt(text: str) -> object:
    from django.template import Context, Template

    shown = Template("{{ text|truncatechars:90 }}{{ text|linebreaksbr|slice:':9' }}")
    return shown.render(Context({"text": text}))


class TooLong(Exception):
    """A run was stopped after its seconds."""


begun = 0.0


def yield_time() -> None:
    """Leaves out of the time what a path had to do first and another path measures."""
    global begun
    begun = time.process_time()


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def milliseconds(work: Callable[[], object], seconds: float) -> tuple[float, str]:
    """Processor time, and the name of an error that was not foreseen."""
    forget()
    error = ""
    yield_time()
    try:
        with stopped_after(seconds):
            work()
    except TooLong:
        pass
    except Exception as raised:
        error = "" if isinstance(raised, EXPECTED) else type(raised).__name__
    return 1000 * (time.process_time() - begun), error


def forget() -> None:
    """What was kept of earlier texts is dropped, so that each run does the work."""
    from annotation.texts import rendering

    rendering.render_text.cache_clear()
    rendering.text_map.cache_clear()


EXPECTED: tuple[type[Exception], ...] = ()


def measured(arguments: argparse.Namespace) -> Iterator[tuple[str, str, float, str]]:
    """(path, family, milliseconds, error) of every run."""
    texts = {
        name: make(random.Random(f"{SEED} {name}"), arguments.characters)
        for name, make in FAMILIES.items()
        if arguments.family in name
    }
    for path, work in single_paths().items():
        if arguments.path in path:
            milliseconds(partial(work, "Whatever is loaded on first use is loaded now."), 60)
            for family, text in texts.items():
                yield path, family, *milliseconds(partial(work, text), arguments.seconds)
    for path, compare in pair_paths().items():
        if arguments.path in path:
            milliseconds(partial(compare, "Loaded now.", "Loaded then."), 60)
            for family, text in texts.items():
                found = [
                    milliseconds(partial(compare, text, other), arguments.seconds)
                    for other in copies(text, random.Random(SEED))
                ]
                yield path, family, *max(found)


def floor(characters: int) -> float:
    """Milliseconds of str.split over an ordinary text, the shortest of many."""
    text = prose(random.Random(SEED), characters)
    times = []
    for _ in range(50):
        start = time.process_time()
        text.split()
        times.append(1000 * (time.process_time() - start))
    return min(times)


def show(rows: Iterator[tuple[str, str, float, str]], floor_ms: float, every: bool) -> dict[str, object]:
    """Prints the table; what the last line says."""
    print(f"floor: str.split of an ordinary text {floor_ms:.2f} ms")
    worst: tuple[float, str, str] = (0.0, "", "")
    over = 0
    for path, group in groupby(rows, key=lambda row: row[0]):
        found = sorted(group, key=lambda row: (bool(row[3]), row[2]), reverse=True)
        for _path, family, ms, error in found:
            over += ms > LIMIT_MS or bool(error)
            if every or error or ms > LIMIT_MS or (family, ms) == found[0][1:3]:
                print(f"{path:28} {family:30} {ms:9.1f} ms {ms / floor_ms:8.0f} x {error}", flush=True)
        worst = max(worst, *((ms, path, family) for _path, family, ms, _error in found))
    return {
        "floor_ms": round(floor_ms, 2),
        "worst_ms": round(worst[0], 1),
        "path": worst[1],
        "family": worst[2],
        "over": over,
    }


def main() -> None:
    global EXPECTED
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--characters", type=int, default=100_000)
    parser.add_argument("--path", default="", help="only paths with this word in their name")
    parser.add_argument("--family", default="", help="only families with this word in their name")
    parser.add_argument("--seconds", type=float, default=5.0, help="a run is stopped after so many")
    parser.add_argument("--all", action="store_true", help="print every family, not only the slowest")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PLUMBLINE_DATA_DIR"] = folder
        import django

        django.setup()
        from annotation.rules.alignment import TooDifferent
        from annotation.rules.degrading import TooShort
        from annotation.rules.subtasks import UnreadableNumbers
        from generation.text_metrics.counts import NoWords
        from judging.methods.prompts import BadTemplate

        EXPECTED = (TooShort, UnreadableNumbers, NoWords, BadTemplate, TooDifferent)
        print(json.dumps(show(measured(arguments), floor(arguments.characters), arguments.all)))


if __name__ == "__main__":
    main()
