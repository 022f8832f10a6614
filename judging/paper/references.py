"""The works that result pages name as their sources, as entries of a bibliography. PURE."""

import re
from collections.abc import Iterable

ENTRIES = {
    "2312.07398": (
        "zhang2023llmeval",
        "Zhang, Yue and others",
        "{LLMEval}: A Preliminary Study on How to Evaluate Large Language Models",
        2023,
    ),
    "2406.04770": (
        "lin2024wildbench",
        "Lin, Bill Yuchen and others",
        "{WildBench}: Benchmarking {LLMs} with Challenging Tasks from Real Users in the Wild",
        2024,
    ),
    "2409.02076": (
        "wu2024longgenbench",
        "Wu, Yuhao and others",
        "{LongGenBench}: Benchmarking Long-Form Generation in Long Context {LLMs}",
        2024,
    ),
    "2409.16191": (
        "que2024hellobench",
        "Que, Haoran and others",
        "{HelloBench}: Evaluating Long Text Generation Capabilities of Large Language Models",
        2024,
    ),
    "2412.15524": (
        "lyu2024href",
        "Lyu, Xinxi and others",
        "{HREF}: Human Response-Guided Evaluation of Instruction Following in Language Models",
        2024,
    ),
    "2311.01453": (
        "angelopoulos2023ppi",
        "Angelopoulos, Anastasios N. and Duchi, John C. and Zrnic, Tijana",
        "{PPI++}: Efficient Prediction-Powered Inference",
        2023,
    ),
    "2501.10970": (
        "calderon2025alternative",
        "Calderon, Nitay and Reichart, Roi and Dror, Rotem",
        "The Alternative Annotator Test for {LLM-as-a-Judge}: How to Statistically Justify Replacing Human Annotators "
        "with {LLMs}",
        2025,
    ),
}
"""By arXiv number: (key, authors, title, year)."""
_ARXIV = re.compile(r"arXiv (\d{4}\.\d{4,5})")


def cited(sources: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the arXiv numbers of ENTRIES that the sources name, and the sources that name none of them, each once."""
    numbers: dict[str, None] = {}
    others: dict[str, None] = {}
    for source in sources:
        known = [number for number in _ARXIV.findall(source) if number in ENTRIES]
        numbers |= dict.fromkeys(known)
        if not known:
            others[source] = None
    return list(numbers), list(others)


def bibtex(numbers: Iterable[str]) -> str:
    """Return the entries of these arXiv numbers as BibTeX."""
    parts = []
    for number in numbers:
        key, authors, title, year = ENTRIES[number]
        parts.append(
            f"@misc{{{key},\n  author = {{{authors}}},\n  title = {{{title}}},\n  year = {{{year}}},\n"
            f"  eprint = {{{number}}},\n  archivePrefix = {{arXiv}}\n}}\n"
        )
    return "\n".join(parts)
