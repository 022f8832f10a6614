"""A model is asked how hard an instruction is, as for WildBench (arXiv 2406.04770, section 2), in wording of our own."""

import re

from generation.importers.instructions import LEVELS, LEVELS_ZH, difficulty_rating

QUESTIONS = {
    "en": """\
Below is what a person asked an assistant. Do not answer it. Judge how difficult it is to answer well: name in a sentence \
or two the knowledge and the steps of reasoning that a good answer needs, then rate it.

<<<
{conversation}
>>>

Finish with one line of this form, with one of very easy, easy, medium, hard, very hard:
Difficulty: medium""",
    "zh-hans": """\
下面是一个人向助手提出的要求。请不要回答它，而是判断要答好它有多难：先用一两句话说明好的回答需要哪些知识和推理步骤，再给出难度。

<<<
{conversation}
>>>

最后单独写一行，格式如下，难度只能是很容易、容易、中等、难、很难之一：
难度：中等""",
}
_LONGEST_FIRST = sorted((*LEVELS, *LEVELS_ZH), key=len, reverse=True)
_STATED = re.compile(rf"(?:difficulty|难度)[\s:：*]*({'|'.join(_LONGEST_FIRST)}|[1-5](?!\d))")


def rating_in(reply: str) -> int | None:
    """The rating from 1 to 5 that a reply to the question states last; None where it states none."""
    found = _STATED.findall(" ".join(reply.casefold().split()))
    return difficulty_rating(found[-1]) if found else None
