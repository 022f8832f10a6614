"""What can be counted in a text without reading it: words, sentences, repetition, variety.

Words are those of nltk 3.9.1's word_tokenize behind a Punkt sentence splitter that was never trained, so
nothing has to be downloaded. The rules (Apache-2.0, nltk.tokenize.destructive and nltk.tokenize.punkt)
are kept here at that version because later ones count differently; counting goes chunk by chunk, which
gives the same number some twenty times faster. word_count alone counts Chinese and Japanese by the character.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from core.errors import UserError

_CLOSERS = "\\]\\)}>\"'»”’ "
_Rule = tuple[frozenset[str], re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _spaced(match: re.Match[str]) -> str:
    return f" {match[0]} "


def _parted(match: re.Match[str]) -> str:
    return f"{match[1]} {match[2]}"


def _before(match: re.Match[str]) -> str:
    return f" {match[1]} {match[2]}"


def _after(match: re.Match[str]) -> str:
    return f"{match[1]} {match[2]} "


def _around(match: re.Match[str]) -> str:
    return f" {match[1]} {match[2]} "


def _rules(*written: tuple[str, str, str | Callable[[re.Match[str]], str]]) -> tuple[_Rule, ...]:
    return tuple((frozenset(signs), re.compile(pattern), put) for signs, pattern, put in written)


# Each rule with the signs of which a sentence has one where the rule applies, those counted that rules before it put in:
# looking for them takes a tenth of the rule's time. Functions put in what nltk writes as templates, in half the time.
_BEFORE_PADDING = _rules(
    ("«“‘„`", "([«“‘„]|[`]+)", _spaced),
    ('"', r"^\"", r"``"),
    ('`"', r"(``)", _spaced),
    ("\"'", r"([ \(\[{<])(\"|\'{2})", lambda match: f"{match[1]} `` "),
    ("'", r"(?i)(\')(?!re|ve|ll|m|t|s|d|n)(\w)\b", _parted),
    (".", rf"([^\.])(\.)([{_CLOSERS}]*)\s*$", r"\1 \2 \3 "),
    (":,", r"([:,])([^\d])", _before),
    (":,", r"([:,])$", _spaced),
    (".", r"\.{2,}", _spaced),
    (";@#$%&", r"[;@#$%&]", _spaced),
    (".", r"([^\.])(\.)([\]\)}>\"\']*)\s*$", r"\1 \2\3 "),
    ("?!", r"[?!]", _spaced),
    ("'", r"([^'])' ", lambda match: f"{match[1]} ' "),
    ("*", r"[*]", _spaced),
    ("[](){}<>", r"[\]\[\(\)\{\}\<\>]", _spaced),
    ("-", r"--", " -- "),
)
_AFTER_PADDING = _rules(
    ("»”’", "([»”’])", _spaced),
    ("'", r"''", " '' "),
    ('"', r'"', " '' "),
    (" ", r"\s+", " "),
    ("'\"", r"([^' ])('[sS]|'[mM]|'[dD]|') ", _after),
    ("'\"", r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", _after),
    ("cC", r"(?i)\b(can)(not)\b", _around),
    ("'\"", r"(?i)\b(d)('ye)\b", _around),
    ("gG", r"(?i)\b(gim)(me)\b", _around),
    ("gG", r"(?i)\b(gon)(na)\b", _around),
    ("gG", r"(?i)\b(got)(ta)\b", _around),
    ("lL", r"(?i)\b(lem)(me)\b", _around),
    ("'\"", r"(?i)\b(more)('n)\b", _around),
    ("wW", r"(?i)\b(wan)(na)(?=\s)", _around),
    ("'\"", r"(?i) ('t)(is)\b", _around),
    ("'\"", r"(?i) ('t)(was)\b", _around),
)

_NON_WORD = r"(?:[)\";}\]\*:@\'\({\[!?])"
_MULTI_CHAR = r"(?:\-{2,}|\.{2,}|(?:\.\s){2,}\.)"
_PUNKT_TOKEN = re.compile(
    rf"({_MULTI_CHAR}|(?=[^\(\"\`{{\[:;&\#\*@\)}}\]\-,])\S+?"
    rf"(?=\s|$|{_NON_WORD}|{_MULTI_CHAR}|,(?=$|\s|{_NON_WORD}|{_MULTI_CHAR}))|\S)"
)
_SENTENCE_END = re.compile(rf"[.?!](?=(?P<after>{_NON_WORD}|\s+(?P<next>\S+)))")
_REALIGNMENT = re.compile(r"[\"')\]}]+?(?:\s+|(?=--)|$)", re.MULTILINE)
_INITIAL = re.compile(r"[^\W\d]\.$")
_NUMBER = re.compile(r"^-?[\.,]?\d[\d,\.-]*\.?$")
_PLAIN_WORD = re.compile(r"[^\W\d_]{2,}\Z")
_NO_SENTENCE_STARTS = frozenset(";:,.!?")
_ONLY_CLOSERS = re.compile(r"[\]\)}>\"'»”’]+\Z")
_QUOTE_BEFORE_LINE_BREAK = re.compile(r"'(?=[^\S ])")
_PLAIN_CHUNK = re.compile(r"([A-Za-z0-9]+)([.,;:?!]?)\Z")
_CONTRACTIONS = frozenset(("cannot", "gimme", "gonna", "gotta", "lemme", "wanna"))
_CHARACTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNSPACED = re.compile(f"[{_CHARACTERS}]")
_UNSPACED_RUN = re.compile(f"[{_CHARACTERS}\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65“”‘’—…·]+")
_CHUNK_LENGTH_KEPT = 40
_CHUNKS_KEPT = 200_000


def _starts_no_sentence(token: str) -> bool | None:
    """What an untrained Punkt knows of a token after a period: True (no start), False (upper case), None."""
    if token in _NO_SENTENCE_STARTS or token[0].islower():
        return True
    return False if token[0].isupper() else None


def _context_breaks(context: str) -> bool:
    """Whether a token of `context` other than its last ends a sentence, by Punkt's rules without training."""
    tokens = [token for line in context.split("\n") for token in _PUNKT_TOKEN.findall(line)]
    for token, following in zip(tokens, islice(tokens, 1, None), strict=False):
        if token in ("?", "!"):
            return True
        if not token.endswith(".") or token.endswith(".."):
            continue
        if token != ".":  # nosec B105 # a token of a text
            continues = _starts_no_sentence(following)
            if _INITIAL.match(token) and continues is not None:
                continue
            if _NUMBER.match(token.lower()) and continues:
                continue
        return True
    return False


_known_context_breaks = lru_cache(maxsize=20_000)(_context_breaks)


def _breaks(word: str, mark: str, after: str) -> bool:
    """Whether `mark`, behind `word` and before the token or character `after`, ends a sentence."""
    if mark != "." or _PLAIN_WORD.match(word):
        return True
    if word.isdecimal():
        first = after.lstrip()[0]
        if first not in _NO_SENTENCE_STARTS and not first.islower():
            return True
    context = word + mark + after
    return _known_context_breaks(context) if len(context) <= _CHUNK_LENGTH_KEPT else _context_breaks(context)


def _sentence_ends(text: str) -> Iterator[tuple[int, int]]:
    """(end of a sentence, start of the next) for each break: of marks in one word only the last may break."""
    spaces = [space for space in " \n\t\r\x0b\x0c" if space in text]
    previous: re.Match[str] | None = None
    start = stop = 0
    for match in _SENTENCE_END.finditer(text):
        here = match.start()
        space = -1
        for character in spaces:
            space = max(space, text.rfind(character, stop + 1, here))
        word_start = space + 1 if space > stop else start
        if previous and stop <= word_start and _breaks(text[start:stop], previous[0], previous["after"]):
            yield previous.end(), _next_start(previous)
        previous, start, stop = match, word_start, here
    if previous and _breaks(text[start:stop], previous[0], previous["after"]):
        yield previous.end(), _next_start(previous)


def _next_start(match: re.Match[str]) -> int:
    return match.start("next") if match["next"] else match.end()


def _sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Sentences as (start, end), closing quotes and brackets moved to the sentence they end."""
    start = moved = 0
    for end, following in _sentence_ends(text):
        first = start + moved
        closing = _REALIGNMENT.match(text, following) if text[following] in "\"')]}" else None
        if closing:
            yield first, following + len(closing[0].rstrip())
            moved = len(closing[0])
        else:
            moved = 0
            if first < end:
                yield first, end
        start = following
    end = len(text.rstrip())
    if start + moved < end:
        yield start + moved, end


def sentences(text: str) -> list[str]:
    """The sentences of a text as an untrained Punkt splitter cuts them."""
    return [text[start:end] for start, end in _sentence_spans(text)]


def _words_of(sentence: str) -> list[str]:
    signs = {" ", *sentence}
    for wanted, pattern, put in _BEFORE_PADDING:
        if not wanted.isdisjoint(signs):
            sentence = pattern.sub(put, sentence)
    sentence = f" {sentence} "
    for wanted, pattern, put in _AFTER_PADDING:
        if not wanted.isdisjoint(signs):
            sentence = pattern.sub(put, sentence)
    return sentence.split()


def words(text: str) -> list[str]:
    """The tokens of nltk 3.9.1's word_tokenize with an untrained Punkt splitter."""
    known: dict[str, list[str]] = {}
    found: list[str] = []
    for sentence in sentences(text):
        if sentence not in known:
            known[sentence] = _words_of(sentence)
        found += known[sentence]
    return found


class _CountByChunk(dict[str, int]):
    """How many words a chunk between white space holds, inside a sentence or at its end."""

    def __init__(self, before: str, after: str) -> None:
        self.before, self.after = before, after
        self.around = len(before.split()) + len(after.split())

    def __missing__(self, chunk: str) -> int:
        plain = _PLAIN_CHUNK.match(chunk)
        if plain and plain[1].lower() not in _CONTRACTIONS:
            count = 1 if not plain[2] or (plain[2] == "." and self.after) else 2
        else:
            count = len(_words_of(self.before + chunk + self.after)) - self.around
        if len(chunk) <= _CHUNK_LENGTH_KEPT:
            if len(self) >= _CHUNKS_KEPT:
                self.clear()
            self[chunk] = count
        return count


_inside = _CountByChunk("a ", " a")
_at_end = _CountByChunk("a ", "")


@lru_cache(maxsize=20_000)
def _count_alone(sentence: str) -> int:
    return len(_words_of(sentence))


def _count_sentence(sentence: str) -> int:
    """len(_words_of(sentence)), chunk by chunk.

    No rule looks past white space but those for a sentence's last period; and a single quote before a space
    is treated otherwise than one before a line break, which sends the sentence down the long way.
    """
    chunks = sentence.split()
    if len(chunks) < 2 or _QUOTE_BEFORE_LINE_BREAK.search(sentence):
        return _count_alone(sentence)
    last = chunks.pop()
    if not _ONLY_CLOSERS.match(last):
        return sum(map(_inside.__getitem__, chunks)) + _at_end[last]
    tail = sentence.rindex(last)
    while chunks:
        chunk = chunks.pop()
        tail = sentence.rindex(chunk, 0, tail)
        if not _ONLY_CLOSERS.match(chunk):
            break
    if not chunks:
        return _count_alone(sentence)
    return sum(map(_inside.__getitem__, chunks)) + _at_end[sentence[tail:]]


def word_count(text: str) -> int:
    """The number of words: len(words(text)), counted faster, with each Chinese or Japanese character a word of its own.

    Those scripts put no spaces between words, so that nltk takes a whole clause for one. Their punctuation, and quotation
    marks, dashes and dots that touch them, are no words.
    """
    characters = len(_UNSPACED.findall(text))
    if not characters:
        return _spaced_words(text)
    return characters + _spaced_words(_UNSPACED_RUN.sub(_blank, text))


def _blank(run: re.Match[str]) -> str:
    return " " if _UNSPACED.search(run[0]) else run[0]


def _spaced_words(text: str) -> int:
    return sum(_count_sentence(text[start:end]) for start, end in _sentence_spans(text))


@dataclass(frozen=True)
class RepeatedSentence:
    """The sentence a text says most often, and how often; one of several is the first."""

    sentence: str
    times: int


class NoWords(UserError):
    """A share of words was asked of texts too short to have any."""


def _four_grams(tokens: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)


def repetition_4(text: str) -> float:
    """The share, 0 to 1, of distinct 4-grams that occur more than once. Raises NoWords under four words."""
    counts = Counter(_four_grams(words(text)))
    if not counts:
        raise NoWords("Repetition-4 needs a text of at least four words.")
    return sum(times > 1 for times in counts.values()) / len(counts)


def distinct_4(texts: Iterable[str]) -> float:
    """Distinct 4-grams over all tokens of the texts, 0 to 1. Raises NoWords where there is no word."""
    distinct: set[tuple[str, ...]] = set()
    total = 0
    for text in texts:
        tokens = words(text)
        total += len(tokens)
        distinct.update(_four_grams(tokens))
    if not total:
        raise NoWords("Distinct-4 needs at least one word.")
    return len(distinct) / total


def most_repeated_sentence(text: str) -> RepeatedSentence:
    """Raises NoWords where the text has no sentence."""
    counts = Counter(sentences(text))
    if not counts:
        raise NoWords("A text without sentences repeats none.")
    sentence, times = counts.most_common(1)[0]
    return RepeatedSentence(sentence, times)
