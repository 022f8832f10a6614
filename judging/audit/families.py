"""Which family of models a name belongs to, by the words in it. PURE."""

import re
from functools import cache

FAMILIES = {
    "OpenAI": r"(?<!cerebras.)gpt[-_ ]?(?:[345]|oss)|chatgpt|davinci|o[134]\b",
    "Anthropic": r"claude",
    "Google": r"gemini|gemma|palm\d?\b|bard\b",
    "Meta": r"llama|opt\b",
    "Alibaba": r"qwen|qwq",
    "Mistral": r"mistral|mixtral|ministral",
    "DeepSeek": r"deepseek",
    "Cohere": r"command[-_ ]r|cohere",
    "xAI": r"grok",
    "Zhipu": r"glm|chatglm",
    "Baichuan": r"baichuan",
    "01.AI": r"yi\b",
    "Moonshot": r"kimi|moonshot",
    "Microsoft": r"phi\d?\b|orca",
}
"""How a word of the name begins; a version may follow, as in gpt4 and llama-3."""
MARKS = {family: re.compile(rf"(?<![a-z])(?:{marks})") for family, marks in FAMILIES.items()}


@cache
def family_of(name: str) -> str:
    """The family whose word the name holds, or ''; of several, the one that comes first in the name."""
    found = [
        (match.start(), family)
        for family, marks in MARKS.items()
        if (match := marks.search(name.lower().replace("_", "-")))
    ]
    return min(found)[1] if found else ""
