"""One prompt that is worded for several lengths: an instruction for each, all named after the prompt.

HelloBench (arXiv 2409.16191, 5.3) requests 2,000 to 16,000 words of the same prompts. The instruction of a prompt NAME
with a length is called NAME@2k, and requests the words that it is named after.
"""

from collections.abc import Mapping

from django.db.models import Q

from generation.llm.protocol.wrapping import LENGTHS
from generation.models import Instruction

MARK = "@"
SUFFIXES = {experiment: MARK + experiment.removeprefix("length-") for experiment in LENGTHS}


def worded_for_length(*experiments: str) -> Q:
    """Return the condition on instructions that are worded for one of these experiments' lengths."""
    found = Q(pk__in=[])
    for experiment in experiments:
        found |= Q(external_id__endswith=SUFFIXES[experiment], words_asked=LENGTHS[experiment])
    return found


def prompt_name(external_id: str) -> str:
    """Return the name of the prompt that an instruction words for a length; its own name where it does not."""
    name, mark, size = external_id.rpartition(MARK)
    return name if mark and name and mark + size in SUFFIXES.values() else external_id


def prompts_of(names: Mapping[int, str]) -> dict[int, int]:
    """Return, by primary key, the instruction that stands for the prompt of each one that is worded for a length.

    `names` are external ids by primary key. It is the prompt's own instruction where the benchmark has it, else the
    first of those given. Instructions that are not worded for a length are left out.
    """
    marked = [pk for pk, name in names.items() if prompt_name(name) != name]
    rows = Instruction.objects.filter(worded_for_length(*LENGTHS), pk__in=marked).order_by("pk") if marked else ()
    by_prompt: dict[tuple[int, str], list[int]] = {}
    for row in rows:
        by_prompt.setdefault((row.benchmark_id, prompt_name(row.external_id)), []).append(row.pk)
    found: dict[int, int] = {}
    for benchmark in {benchmark for benchmark, _name in by_prompt}:
        wanted = [name for other, name in by_prompt if other == benchmark]
        own = dict(
            Instruction.objects.filter(benchmark=benchmark, external_id__in=wanted).values_list("external_id", "pk")
        )
        for name in wanted:
            pks = by_prompt[benchmark, name]
            found |= dict.fromkeys(pks, own.get(name, pks[0]))
    return found
