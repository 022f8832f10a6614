"""Rendering of instructions, responses and guidelines as safe HTML: Markdown, tables, coloured code, LaTeX as MathML.

Every text is sanitised before it reaches the page, and nothing is fetched for it (images are withheld). Long texts are
returned in blocks, so that a browser lays out only what is visible.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import cast
from xml.sax.saxutils import escape  # nosec B406 # parses nothing

import nh3
from django.conf import settings
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _, ngettext
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML, RendererProtocol
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin

from annotation.rules.quoting import TextMap
from annotation.rules.reading_time import CJK, count_words
from annotation.texts.highlighting import ColourAllowance, coloured_code
from annotation.texts.notation import spelled_out, upright
from annotation.texts.rendered_files import kept, rendering_version
from core.errors import UserError
from generation.text_metrics.counts import word_count

BLOCK_CHARACTERS = 1800
LONGEST_FORMULA = 2000
MOST_STEPS = 27_000
"""The limit on the work of reading a text as Markdown. A mark in a line or a character of a formula costs one step, and
other elements cost the steps below. 10,000 words cost 2,000 steps as prose, 21,000 with emphasis, a link and code in every
sentence, and 26,000 as a list with five words per item."""
COST_OF_LINE = 3
COST_OF_HEADING = 3
COST_OF_MARK = {"[": 4, "!": 3, "*": 3, "_": 3, "~": 2, "$": 3, "\\": 2, "<": 2, "`": 2}
"""Marks that cost more than one step, because what they may open is searched for to the end of the text."""
COST_OF_CELL = 2
COST_OF_EMPTY_CELL = 4
ADDRESS_OF_A_STEP = 20
BLOCKS_WITHIN = ["paragraph", "reference", "blockquote", "list"]
COST_OF_FORMULA = 10
COST_OF_BRACE = 2
MOST_HEADINGS = 400
"""Headings that an outline lists."""
WORDS_A_MINUTE = 220
CJK_CHARACTERS_A_MINUTE = 350

_LINE_END = re.compile(r"\r\n?|\n")
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
    "mo": {"stretchy", "fence", "separator", "form", "minsize", "maxsize", "movablelimits", "lspace", "rspace"},
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
    """Safe HTML in ordered `blocks`, with the code points at which they begin in the text (`starts`).

    `words` counts as all other pages do, a CJK character as one; `minutes` is the reading time. `plain` says that the
    text has too many marks to be read as Markdown and is shown as written; `as_latex` is the number of formulas that
    are not typeset; `unlisted` is the number of headings that the outline leaves out.
    """

    blocks: tuple[SafeString, ...]
    starts: tuple[int, ...]
    outline: tuple[Heading, ...]
    words: int
    minutes: float
    language: str
    plain: bool = False
    as_latex: int = 0
    unlisted: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader is told about the way in which the text is shown."""
        if self.plain:
            return (_("This text has too many Markdown marks to be formatted. It is shown as it was written."),)
        if self.as_latex:
            told = ngettext(
                "This text has too many formulas to typeset them all. %(n)s is shown as LaTeX.",
                "This text has too many formulas to typeset them all. %(n)s are shown as LaTeX.",
                self.as_latex,
            )
            return (told % {"n": self.as_latex},)
        return ()


class TooManyMarks(UserError):
    """Reading the text as Markdown would take more than MOST_STEPS steps."""


class RenderingWork:
    """The remaining steps for rendering one text. Marks are counted and not time, so the result is always the same."""

    def __init__(self) -> None:
        self.steps = MOST_STEPS
        self.as_latex = 0
        self.headings = 0
        self.colours = ColourAllowance()

    def take(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise TooManyMarks


def _work(env: EnvType) -> RenderingWork:
    return cast(RenderingWork, env["work"])


def _formula(tex: str, work: RenderingWork, *, block: bool) -> str:
    """Return MathML, or the source if it is too long, cannot be parsed, or follows too many formulas."""
    shown = f'<code class="tex">{escape(tex)}</code>'
    if len(tex) > LONGEST_FORMULA:
        return shown
    cost = len(tex) + COST_OF_FORMULA + COST_OF_BRACE * tex.count("{")
    if work.steps < cost:
        work.as_latex += 1
        return shown
    work.take(cost)
    try:
        return convert(upright(spelled_out(tex)), display="block" if block else "inline")
    except (Exception, RecursionError):  # the converter can raise any exception on text from a model
        return shown


def _count_inline(state: StateInline, silent: bool) -> bool:
    """Count a step; this is the first rule that is tried at every mark of a paragraph."""
    _work(state.env).take(COST_OF_MARK.get(state.src[state.pos], 1))
    return False


def _count_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Count a step; this is the first rule that is tried at every line that may begin or end a block."""
    opens_heading = state.src.startswith("#", state.bMarks[start] + state.tShift[start])
    _work(state.env).take(COST_OF_LINE + opens_heading * COST_OF_HEADING)
    return False


def _count_cells(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Count the cells of a table before it is read: every row has as many cells as the first, written or not."""
    if start + 2 > end or not set(ruled := _line(state, start + 1)) <= set("|-: \t") or "-" not in ruled:
        return False
    header, columns = _line(state, start), _columns(ruled)
    if "|" not in header or _columns(header) != columns:
        return False
    below = start + 2
    while below < end and not state.isEmpty(below):
        written = min(columns, _columns(_line(state, below)))
        _work(state.env).take(written * COST_OF_CELL + (columns - written) * COST_OF_EMPTY_CELL)
        below += 1
    return False


def _columns(line: str) -> int:
    return line.strip(" \t|").count("|") + 1


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _count_headings(state: StateCore) -> None:
    """Count a heading before its contents are read."""
    headings = sum(token.type == "heading_open" for token in state.tokens)
    _work(state.env).take(headings * COST_OF_HEADING)


def _count_addresses(state: StateCore) -> None:
    """Count the address of a definition, which stands once in the text and at every link that uses it."""
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "link_open":
                _work(state.env).take(len(str(child.attrs.get("href", ""))) // ADDRESS_OF_A_STEP)


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
    return _formula(tokens[index].content, _work(env), block=tokens[index].info == "\\[")


def _render_dollar_math(
    renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    display = token.type != "math_inline"
    tag, kind = "div" if display else "span", "block" if token.type == "math_block" else "inline"
    content = _formula(token.content.strip(), _work(env), block=display)
    return f'<{tag} class="math {kind}">{content}</{tag}>' + ("\n" if kind == "block" else "")


def _render_image(
    renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return f'<span class="image-withheld">{escape(tokens[index].content) or "…"}</span>'


def _reader() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    uncoloured = cast(RendererHTML, markdown.renderer).rules["fence"]

    def render_fence(
        renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        coloured = coloured_code(tokens[index].content, tokens[index].info, _work(env).colours)
        return uncoloured(tokens, index, options, env) if coloured is None else coloured

    dollarmath_plugin(markdown, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    markdown.inline.ruler.before("escape", "bracket_math", _bracket_math)
    markdown.inline.ruler.before("text", "count_inline", _count_inline)
    markdown.block.ruler.before("table", "count_block", _count_block, {"alt": BLOCKS_WITHIN})
    markdown.block.ruler.before("table", "count_cells", _count_cells, {"alt": ["paragraph", "reference"]})
    markdown.core.ruler.after("block", "count_headings", _count_headings)
    markdown.core.ruler.after("inline", "count_addresses", _count_addresses)
    for kind in ("math_inline", "math_inline_double", "math_block"):
        markdown.add_render_rule(kind, _render_dollar_math)
    markdown.add_render_rule("bracket_math", _render_bracket_math)
    markdown.add_render_rule("image", _render_image)
    markdown.add_render_rule("fence", render_fence)
    return markdown


_MARKDOWN = _reader()


def _soften(tokens: Sequence[Token]) -> None:
    """Lower headings below the page's own, and turn alignment into a class, because style attributes are forbidden."""
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
    return mark_safe(safe)  # nosec B703 # nh3 has just sanitised it


def _heard(inline: Token) -> str:
    """Return the words of a heading without the marks around them."""
    return "".join(child.content or " " for child in inline.children or () if child.nesting == 0).strip()


def language_of(text: str) -> str:
    """Return 'zh-hans' if Chinese characters prevail, 'ja' if there are kana among them, and '' otherwise."""
    sample = text[:4000]
    characters = len(CJK.findall(sample))
    if characters * 3 < len(sample.strip()):
        return ""
    return "ja" if re.search("[\u3040-\u30ff]", sample) else "zh-hans"


@cache
def _folder() -> Path:
    """Return the folder of cached rendered texts."""
    sources = (Path(__file__).with_name(f"{name}.py") for name in ("rendering", "notation", "highlighting"))
    return Path(settings.DATA_DIR) / "rendered" / rendering_version(*sources)


@lru_cache(maxsize=256)
def render_text(text: str) -> RenderedText:
    """Return the text in blocks of about BLOCK_CHARACTERS; 10,000 words take about 30 ms, once per machine."""
    found = kept(_folder(), text, lambda: asdict(_rendered(text)))
    return RenderedText(
        blocks=tuple(mark_safe(block) for block in found["blocks"]),  # nosec B703 # sanitised before it was kept
        starts=tuple(found["starts"]),
        outline=tuple(Heading(**heading) for heading in found["outline"]),
        words=found["words"],
        minutes=found["minutes"],
        language=found["language"],
        plain=found["plain"],
        as_latex=found["as_latex"],
        unlisted=found["unlisted"],
    )


def render_once(text: str) -> RenderedText:
    """Return the same without keeping it, for a text that nobody is likely to see again."""
    return _rendered(text)


def _rendered(text: str) -> RenderedText:
    try:
        blocks, starts, outline, work = _as_markdown(text)
        plain = False
    except TooManyMarks:
        blocks, starts = _as_written(text)
        outline, work, plain = [], RenderingWork(), True
    words, characters = count_words(text)
    return RenderedText(
        blocks=tuple(blocks),
        starts=tuple(starts),
        outline=tuple(outline),
        words=word_count(text),
        minutes=words / WORDS_A_MINUTE + characters / CJK_CHARACTERS_A_MINUTE,
        language=language_of(text),
        plain=plain,
        as_latex=work.as_latex,
        unlisted=max(0, work.headings - MOST_HEADINGS),
    )


def _as_markdown(text: str) -> tuple[list[SafeString], list[int], list[Heading], RenderingWork]:
    """Return the blocks, their starts, the outline and the counts. Raises TooManyMarks."""
    work = RenderingWork()
    env: EnvType = {"work": work}
    tokens = _MARKDOWN.parse(text, env)
    _soften(tokens)
    lines = [0, *(line.end() for line in _LINE_END.finditer(text))]
    blocks: list[SafeString] = []
    starts: list[int] = []
    outline: list[Heading] = []
    waiting: list[Token] = []

    def flush() -> None:
        if waiting:
            blocks.append(_clean(_MARKDOWN.renderer.render(waiting, _MARKDOWN.options, env)))
            starts.append(lines[waiting[0].map[0]] if waiting[0].map else 0)
            waiting.clear()

    size = 0
    for group in _top_level(tokens):
        heading = group[0].type == "heading_open"
        if size > BLOCK_CHARACTERS or (heading and size > BLOCK_CHARACTERS // 4):
            flush()
            size = 0
        work.headings += heading
        if heading and len(outline) < MOST_HEADINGS:
            outline.append(Heading(len(blocks), int(group[0].tag[1]) - 2, _heard(group[1])))
        waiting.extend(group)
        size += sum(len(token.content) for token in group)
    flush()
    return blocks, starts, outline, work


def _as_written(text: str) -> tuple[list[SafeString], list[int]]:
    """Return the text in blocks, which end at line ends if possible, and their starts."""
    blocks: list[SafeString] = []
    starts: list[int] = []
    start = 0
    while start < len(text):
        end = start + BLOCK_CHARACTERS
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        shown = text[start:end].replace("\0", "\ufffd")
        blocks.append(mark_safe(f'<p class="as-written">{escape(shown)}</p>'))  # nosec B703 # escaped
        starts.append(start)
        start = end
    return blocks, starts


@lru_cache(maxsize=32)
def text_map(text: str) -> TextMap:
    """Return the map from shown positions to source positions; 10,000 words take about 50 ms the first time."""
    rendered = render_text(text)
    return TextMap(text, rendered.blocks, rendered.starts)
