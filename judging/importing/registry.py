"""The benchmarks whose own files can be loaded: which reader reads them, and where they are described.

A further benchmark is one line in `_ALL`.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from django.conf import settings

from core.errors import UserError
from generation.importers.benchmark_files import BenchmarkFiles
from judging.importing import messages


@dataclass(frozen=True)
class Registered:
    """A benchmark whose files can be loaded.

    `reader` is "module:class"; it is imported only when its benchmark is loaded. `page` is its page below docs/.
    `brings_rubrics` says that checklists come with the files, so that ours of fixtures/rubrics/ are not loaded.
    """

    slug: str
    title: str
    reader: str
    page: str
    brings_rubrics: bool = False
    fixtures: Path = settings.BASE_DIR / "fixtures"

    def files(self, root: Path, tasks: Path | None = None) -> BenchmarkFiles:
        """Return the reader of the files in a folder. Raises BadRow where the folder holds none of them."""
        module, _colon, name = self.reader.partition(":")
        found: BenchmarkFiles = getattr(import_module(module), name)(root, tasks)
        return found


_ALL = (
    Registered(
        "hellobench",
        "HelloBench",
        "generation.importers.hellobench:Clone",
        "benchmarks/hellobench.md",
        brings_rubrics=True,
    ),
    Registered("llmeval1", "LLMEval-1", "generation.importers.llmeval1:Llmeval1", "benchmarks/llmeval1.md"),
    Registered("llmeval2", "LLMEval-2", "generation.importers.llmeval2:Llmeval2", "benchmarks/llmeval2.md"),
    Registered("href", "HREF", "generation.importers.href:Href", "benchmarks/href.md"),
    Registered("wildbench", "WildBench", "generation.importers.wildbench:Wildbench", "benchmarks/wildbench.md"),
    Registered(
        "longgenbench", "LongGenBench", "generation.importers.longgenbench:Longgenbench", "benchmarks/longgenbench.md"
    ),
)
BENCHMARKS = {one.slug: one for one in _ALL}


def registered(slug: str) -> Registered:
    """Return the benchmark of this name. Raises UserError."""
    if slug not in BENCHMARKS:
        raise UserError(messages.NO_READER(slug=repr(slug), known=", ".join(BENCHMARKS)))
    return BENCHMARKS[slug]
