"""How much of a reference a text repeats: BLEU, ROUGE-L, METEOR. PURE. And how far texts are from their length.

Words are runs of letters and digits in lower case, each Chinese or Japanese character one of its own. All values
lie in 0..1; a text without words shares nothing and scores 0.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
LONGEST_N_GRAM = 4
METEOR_ALPHA, METEOR_BETA, METEOR_GAMMA = 0.9, 3.0, 0.5
MOST_STEMMED = 5_000
LONGEST_STEMMED = 50
SHORT = 500
"""Words up to which a bit set at a time is the faster way, as it copies all of them."""
METEOR_STAGES = ("exact", "stem")
"""The stages of METEOR done here; its synonym stage needs WordNet and its paraphrase stage tables of their own."""


class NoPairs(ValueError):
    """A score over texts was asked of none, or of lists that do not match."""


@dataclass(frozen=True)
class Rouge:
    """Recall, precision and their harmonic mean over the longest common subsequence of words."""

    recall: float
    precision: float
    f1: float


@dataclass(frozen=True)
class Meteor:
    """`matches` aligned words in `chunks` runs, with the score that follows; stages exact and stem only."""

    score: float
    matches: int
    chunks: int
    stages: tuple[str, ...] = METEOR_STAGES


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def bleu(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Corpus BLEU with up to 4-grams, each text against its references. Papineni et al. (2002), ACL P02-1040.

    Clipped n-gram precisions over all texts, their geometric mean, and the brevity penalty with the closest
    reference length. Unsmoothed: 0 where no 4-gram is shared. Raises NoPairs.
    """
    if not texts or len(texts) != len(references) or not all(references):
        raise NoPairs("BLEU needs as many lists of references as texts, none of them empty.")
    shared, total = [0] * LONGEST_N_GRAM, [0] * LONGEST_N_GRAM
    written = closest = 0
    for text, several in zip(texts, references, strict=True):
        tokens, others = words(text), [words(reference) for reference in several]
        written += len(tokens)
        closest += min((abs(len(other) - len(tokens)), len(other)) for other in others)[1]
        for n in range(1, LONGEST_N_GRAM + 1):
            counts = _n_grams(tokens, n)
            most: Counter[tuple[str, ...]] = Counter()
            for other in others:
                most |= _n_grams(other, n)
            shared[n - 1] += (counts & most).total()
            total[n - 1] += counts.total()
    if not all(shared):
        return 0.0
    mean = math.fsum(math.log(a / b) for a, b in zip(shared, total, strict=True)) / LONGEST_N_GRAM
    penalty = 1.0 if written > closest else math.exp(1 - closest / written)
    return penalty * math.exp(mean)


def _n_grams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


def rouge_l(text: str, reference: str) -> Rouge:
    """Over the longest common subsequence. Lin (2004), W04-1013, with equal weight for recall and precision."""
    one, other = words(text), words(reference)
    shared = common_subsequence(one, other)
    if not shared:
        return Rouge(0.0, 0.0, 0.0)
    recall, precision = shared / len(other), shared / len(one)
    return Rouge(recall, precision, 2 * recall * precision / (recall + precision))


def common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Its length, by bit-parallel dynamic programming (Hyyro, 2004): 10,000 by 10,000 words take some 10 ms.

    What both begin and end with belongs to it, and a word of one only to none.
    """
    shorter = min(len(one), len(other))
    first = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    last = next((at for at in range(shorter - first) if one[-1 - at] != other[-1 - at]), shorter - first)
    inner, outer = one[first : len(one) - last], other[first : len(other) - last]
    shared = set(inner).intersection(outer)
    inner, outer = ([word for word in several if word in shared] for several in (inner, outer))
    places = _places(inner)
    full = (1 << len(inner)) - 1
    unmatched = full
    for step, word in enumerate(outer):
        matches = unmatched & places[word]
        # Less the matches, which are bits of it: exclusive or takes a tenth of the time of subtraction.
        unmatched = (unmatched + matches) | (unmatched ^ matches)
        if not step & 63:  # what was carried past the end never comes back
            unmatched &= full
    return first + last + len(inner) - (unmatched & full).bit_count()


def _places(several: Sequence[str]) -> dict[str, int]:
    """For each word a number with a bit set for every place where it stands."""
    places: dict[str, int] = {}
    if len(several) <= SHORT:
        for place, word in enumerate(several):
            places[word] = places.get(word, 0) | 1 << place
        return places
    bits: dict[str, bytearray] = {}
    for place, word in enumerate(several):
        if word not in bits:
            bits[word] = bytearray(len(several) // 8 + 1)
        bits[word][place >> 3] |= 1 << (place & 7)
    while bits:
        word, found = bits.popitem()
        places[word] = int.from_bytes(found, "little")
    return places


def meteor(text: str, reference: str) -> Meteor:
    """METEOR by exact words, then by Porter stems of what is left; no synonyms. Lavie and Agarwal (2007), W07-0734.

    Weighted mean of precision and recall (alpha 0.9), less a penalty for broken order (gamma 0.5, beta 3). Texts with
    more than MOST_STEMMED different words left are compared by exact words alone, as `stages` then says.
    """
    one, other = words(text), words(reference)
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    _pair_equal(one, other, pairs, taken)
    left = {word for place, word in enumerate(one) if place not in pairs}
    left |= {word for place, word in enumerate(other) if place not in taken}
    stages = METEOR_STAGES if len(left) <= MOST_STEMMED else METEOR_STAGES[:1]
    if stages == METEOR_STAGES:
        stems = _stems(left)
        stemmed, others = ([stems.get(word, word) for word in several] for several in (one, other))
        _pair_equal(stemmed, others, pairs, taken)
    if not pairs:
        return Meteor(0.0, 0, 0, stages)
    precision, recall = len(pairs) / len(one), len(pairs) / len(other)
    mean = precision * recall / (METEOR_ALPHA * precision + (1 - METEOR_ALPHA) * recall)
    chunks = 1 + sum(after - place != 1 or pairs[after] - pairs[place] != 1 for place, after in pairwise(sorted(pairs)))
    penalty = METEOR_GAMMA * (chunks / len(pairs)) ** METEOR_BETA
    return Meteor(mean * (1 - penalty), len(pairs), chunks, stages)


def _pair_equal(one: Sequence[str], other: Sequence[str], pairs: dict[int, int], taken: set[int]) -> None:
    """Adds pairs of places with the same word, each place used once, in runs as long as they come."""
    # The first free place of each word, and for each place the next of the same word: no list for every word.
    first: dict[str, int] = {}
    following = [-1] * len(other)
    for place in range(len(other) - 1, -1, -1):
        if place not in taken:
            following[place] = first.get(other[place], -1)
            first[other[place]] = place
    for place, word in enumerate(one):
        if place in pairs or word not in first:
            continue
        wanted = pairs.get(place - 1, -2) + 1
        if not (0 <= wanted < len(other) and other[wanted] == word and wanted not in taken):
            wanted = first[word]
            while wanted in taken:
                wanted = following[wanted]
            first[word] = wanted
            if wanted < 0:
                continue
        pairs[place] = wanted
        taken.add(wanted)


def _stems(several: Iterable[str]) -> dict[str, str]:
    """The Porter stem of each; a longer run of letters than any English word's is its own."""
    # Imported here: it brings two seconds of other modules with it.
    from nltk.stem.porter import PorterStemmer

    stem = PorterStemmer().stem
    return {word: stem(word) for word in several if 2 < len(word) <= LONGEST_STEMMED and not word.isdigit()}


def mean_absolute_length_error(written: Sequence[int], asked: Sequence[int]) -> float:
    """Mean distance in words of what was written from what was asked (HelloBench, arXiv 2409.16191). Raises NoPairs."""
    if not written or len(written) != len(asked):
        raise NoPairs("A length error needs as many lengths asked as written, and at least one.")
    return math.fsum(abs(one - other) for one, other in zip(written, asked, strict=True)) / len(written)
