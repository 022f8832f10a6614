"""Detection of places where a response says which model wrote it, which a rater must not know.

PURE.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MASK = "█"
SHORTEST_NAME = 3

_MAKERS = (
    r"OpenAI|Anthropic|Google(?: DeepMind)?|DeepMind|Meta(?: AI)?|Mistral(?: AI)?|Alibaba(?: Cloud)?|DeepSeek|xAI|"
    r"Cohere|Microsoft|Zhipu(?: AI)?|Baichuan|01\.AI|Moonshot(?: AI)?|MiniMax|Baidu|Tencent|iFlytek|"
    r"Shanghai AI Lab(?:oratory)?|"
    r"阿里(?:云|巴巴)?|百度|腾讯|智谱(?:AI)?|月之暗面|科大讯飞|百川智能|深度求索|商汤"
)
_NAMES = (
    r"Chat-?GPT|GPT-?\d[\w.\-]*|GPT|Claude(?:[ -](?:\d|Opus|Sonnet|Haiku|Instant)[\w.\-]*)?|Gemini|Bard|"
    r"LLaMA(?:[ -]?\d[\w.\-]*)?|Mi[sx]tral|Qwen[\w.\-]*|DeepSeek[\w.\-]*|Grok|Command R\+?|Phi-\d|Gemma|"
    r"ChatGLM[\w.\-]*|GLM-?\d[\w.\-]*|InternLM[\w.\-]*|Baichuan[\w.\-]*|Yi-\d[\w.\-]*|Kimi|ERNIE(?: Bot)?|"
    r"Copilot|Vicuna|MOSS|文心一言|通义千问|讯飞星火|混元|豆包|智谱清言"
)
_SAYING = (
    rf"\b(?:I am|I'm|I’m|my name is|this is|as|call me)\s+(?:an? |the )?(?P<one>{_NAMES})(?![\w])",
    rf"(?:我是|我叫|作为|身为|我的名字是)\s*(?P<two>{_NAMES})",
    rf"\b(?:developed|created|trained|made|built|designed)\s+by\s+(?P<three>{_MAKERS})(?![\w])",
    rf"由\s*(?P<four>{_MAKERS})\s*(?:公司|团队)?\s*(?:开发|训练|研发|创建|打造|推出)",
)
_PATTERNS = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _SAYING)
_SPEAKING = re.compile(r"\b(?:I|I'm|I’m|my|me|as an? (?:AI|language|large))\b|我|作为", re.IGNORECASE)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s|$)|[。！？]|$)", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Mention:
    """The words that name a model or its maker, with their offsets in code points."""

    start: int
    end: int
    words: str


def _own_name(name: str) -> re.Pattern[str] | None:
    """Return the pattern of a model's name, with or without version and size ("Zephyr" for Zephyr-7B)."""
    bare = name.rsplit("/", 1)[-1].strip()
    stem = re.split(r"[-_ .]?\d", bare, maxsplit=1)[0].strip("-_ .")
    forms = {form for form in (bare, stem) if len(form) >= SHORTEST_NAME}
    if not forms:
        return None
    either = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(rf"(?<![\w])(?:{either})(?![\w])", re.IGNORECASE)


def find_self_naming(text: str, names: Iterable[str] = ()) -> list[Mention]:
    """Return the mentions in order; none lies within another.

    Mentions are statements such as "I am Claude" or "trained by OpenAI" in a sentence that speaks about itself, and
    names of the writing model (`names`) in such a sentence. A text about a model that says nothing about itself has no
    mentions.
    """
    own = [pattern for pattern in map(_own_name, names) if pattern is not None]
    found: set[Mention] = set()
    for sentence in _SENTENCE.finditer(text):
        if not _SPEAKING.search(sentence.group()):
            continue
        for pattern in _PATTERNS:
            for match in pattern.finditer(text, sentence.start(), sentence.end()):
                group = match.lastgroup
                assert group is not None
                found.add(Mention(match.start(group), match.end(group), match.group(group)))
        for pattern in own:
            for match in pattern.finditer(text, sentence.start(), sentence.end()):
                found.add(Mention(match.start(), match.end(), match.group()))
    kept: list[Mention] = []
    for mention in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept


def mask_self_naming(text: str, names: Iterable[str] = ()) -> str:
    """Return the text with every mention blacked out; its length is unchanged, so offsets remain valid."""
    masked = list(text)
    for mention in find_self_naming(text, names):
        masked[mention.start : mention.end] = MASK * (mention.end - mention.start)
    return "".join(masked)
