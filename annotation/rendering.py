"""Texts of instructions, responses and guidelines as safe HTML: Markdown, tables, code and LaTeX as MathML.

Nothing of a text reaches the page unsanitised, nothing is fetched for it (images are withheld), and long
texts come as blocks, so that a browser lays out only what is in view.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import nh3
from django.conf import settings
from django.utils.safestring import SafeString, mark_safe
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin

from annotation.quoting import TextMap
from annotation.rendered_files import kept, rendering_version

BLOCK_CHARACTERS = 1800
LONGEST_FORMULA = 2000
WORDS_A_MINUTE = 220
CJK_CHARACTERS_A_MINUTE = 350

_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LINE_END = re.compile(r"\r\n?|\n")
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_ALIGNMENTS = {"text-align:right": "to-right", "text-align:center": "to-center"}
_MATHML = {
    "math",
    "mrow",
    "mi",
    "mn",
    "mo",
    "mtext",
    "mspace",
    "ms",
    "mfrac",
    "msqrt",
    "mroot",
    "mstyle",
    "merror",
    "mpadded",
    "mphantom",
    "mfenced",
    "menclose",
    "msub",
    "msup",
    "msubsup",
    "munder",
    "mover",
    "munderover",
    "mmultiscripts",
    "mtable",
    "mtr",
    "mtd",
    "semantics",
}
_TEXT = {
    "p",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "blockquote",
    "pre",
    "code",
    "em",
    "strong",
    "s",
    "br",
    "hr",
    "a",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "span",
    "div",
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "ol": {"start"},
    "th": {"class"},
    "td": {"class"},
    "code": {"class"},
    "span": {"class"},
    "div": {"class"},
    "math": {"display"},
    "mo": {
        "stretchy",
        "fence",
        "separator",
        "form",
        "minsize",
        "maxsize",
        "movablelimits",
        "lspace",
        "rspace",
    },
    "mi": {"mathvariant"},
    "mn": {"mathvariant"},
    "mtext": {"mathvariant"},
    "mspace": {"width", "height", "depth", "linebreak"},
    "mfrac": {"linethickness"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mtable": {"columnalign", "rowspacing", "columnspacing", "displaystyle"},
    "mtd": {"columnalign"},
    "mpadded": {"width", "height", "depth", "lspace", "voffset"},
    "menclose": {"notation"},
    "munder": {"accentunder"},
    "mover": {"accent"},
}


@dataclass(frozen=True)
class Heading:
    block: int
    level: int
    text: str


@dataclass(frozen=True)
class RenderedText:
    """`blocks` are safe HTML, in order, `starts` the code points at which they begin in the text.

    `words` counts a CJK character as one word; `minutes` is reading time.
    """

    blocks: tuple[SafeString, ...]
    starts: tuple[int, ...]
    outline: tuple[Heading, ...]
    words: int
    minutes: float
    language: str


def _formula(tex: str, options: dict[str, Any]) -> str:
    shown = f'<code class="tex">{escape(tex)}</code>'
    if len(tex) > LONGEST_FORMULA:
        return shown
    try:
        return convert(tex, display="block" if options.get("display_mode") else "inline")
    except (Exception, RecursionError):  # the converter may raise anything on what a model wrote
        return shown


def _bracket_math(state: StateInline, silent: bool) -> bool:
    r"""\( inline \) and \[ display \], as many models write formulas."""
    opening = state.src[state.pos : state.pos + 2]
    if opening not in ("\\(", "\\["):
        return False
    closing = "\\)" if opening == "\\(" else "\\]"
    end = state.src.find(closing, state.pos + 2, state.pos + 4 + LONGEST_FORMULA)
    if end < 0 or not state.src[state.pos + 2 : end].strip():
        return False
    if not silent:
        token = state.push("bracket_math", "math", 0)
        token.content = state.src[state.pos + 2 : end].strip()
        token.info = opening
    state.pos = end + 2
    return True


def _render_bracket_math(
    renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return _formula(tokens[index].content, {"display_mode": tokens[index].info == "\\["})


def _render_image(
    renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return f'<span class="image-withheld">{escape(tokens[index].content) or "…"}</span>'


def _reader() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    dollarmath_plugin(
        markdown,
        allow_labels=False,
        allow_space=False,
        allow_digits=False,
        double_inline=True,
        renderer=_formula,
    )
    markdown.inline.ruler.before("escape", "bracket_math", _bracket_math)
    markdown.add_render_rule("bracket_math", _render_bracket_math)
    markdown.add_render_rule("image", _render_image)
    return markdown


_MARKDOWN = _reader()


def _soften(tokens: Sequence[Token]) -> None:
    """Headings step below the page's own; alignment becomes a class, since style attributes are forbidden."""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        elif token.type in ("th_open", "td_open"):
            alignment = _ALIGNMENTS.get(str(token.attrs.pop("style", "")))
            if alignment:
                token.attrs["class"] = alignment


def _top_level(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield group
            group = []


def _clean(html: str) -> SafeString:
    safe = nh3.clean(
        html,
        tags=_TEXT | _MATHML,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    return mark_safe(safe)


def _heard(inline: Token) -> str:
    """A heading's words without the marks around them."""
    return "".join(child.content or " " for child in inline.children or () if child.nesting == 0).strip()


def language_of(text: str) -> str:
    """'zh-hans' where Chinese characters prevail, 'ja' where kana stand among them, else ''."""
    sample = text[:4000]
    characters = len(_CJK.findall(sample))
    if characters * 3 < len(sample.strip()):
        return ""
    return "ja" if re.search("[\u3040-\u30ff]", sample) else "zh-hans"


def count_words(text: str) -> tuple[int, int]:
    """(words written with letters, CJK characters)."""
    characters = len(_CJK.findall(text))
    return len(_WORD.findall(_CJK.sub(" ", text))), characters


@cache
def _folder() -> Path:
    """Where rendered texts are kept."""
    return Path(settings.DATA_DIR) / "rendered" / rendering_version(Path(__file__))


@lru_cache(maxsize=256)
def render_text(text: str) -> RenderedText:
    """The text in blocks of about BLOCK_CHARACTERS; 10,000 words take some 30 ms, once on each machine."""
    found = kept(_folder(), text, lambda: asdict(_rendered(text)))
    return RenderedText(
        blocks=tuple(mark_safe(block) for block in found["blocks"]),
        starts=tuple(found["starts"]),
        outline=tuple(Heading(**heading) for heading in found["outline"]),
        words=found["words"],
        minutes=found["minutes"],
        language=found["language"],
    )


def _rendered(text: str) -> RenderedText:
    tokens = _MARKDOWN.parse(text)
    _soften(tokens)
    lines = [0, *(line.end() for line in _LINE_END.finditer(text))]
    blocks: list[SafeString] = []
    starts: list[int] = []
    outline: list[Heading] = []
    waiting: list[Token] = []

    def flush() -> None:
        if waiting:
            blocks.append(_clean(_MARKDOWN.renderer.render(waiting, _MARKDOWN.options, {})))
            starts.append(lines[waiting[0].map[0]] if waiting[0].map else 0)
            waiting.clear()

    size = 0
    for group in _top_level(tokens):
        heading = group[0].type == "heading_open"
        if size > BLOCK_CHARACTERS or (heading and size > BLOCK_CHARACTERS // 4):
            flush()
            size = 0
        if heading:
            outline.append(Heading(len(blocks), int(group[0].tag[1]) - 2, _heard(group[1])))
        waiting.extend(group)
        size += sum(len(token.content) for token in group)
    flush()
    words, characters = count_words(text)
    return RenderedText(
        blocks=tuple(blocks),
        starts=tuple(starts),
        outline=tuple(outline),
        words=words + characters,
        minutes=words / WORDS_A_MINUTE + characters / CJK_CHARACTERS_A_MINUTE,
        language=language_of(text),
    )


@lru_cache(maxsize=32)
def text_map(text: str) -> TextMap:
    """Where the positions of the shown text stand in the source; 10,000 words take some 50 ms the first time."""
    rendered = render_text(text)
    return TextMap(text, rendered.blocks, rendered.starts)
