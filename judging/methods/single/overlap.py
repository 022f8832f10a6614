"""Overlap of two texts in words: ROUGE-1 and ROUGE-L, computed here. PURE. Lin (2004), ACL workshop W04-1013."""

from collections import Counter

from generation.text_metrics.overlap import common_subsequence, words


def f1(shared: int, one: int, other: int) -> float:
    """Return the harmonic mean of shared/one and shared/other, 0..1; 0 if nothing is shared."""
    return 2 * shared / (one + other) if shared else 0.0


def rouge_1(candidate: str, reference: str) -> float:
    """Return the F1 of shared words, each counted as often as both texts contain it; 0..1."""
    one, other = Counter(words(candidate)), Counter(words(reference))
    return f1((one & other).total(), one.total(), other.total())


def rouge_l(candidate: str, reference: str) -> float:
    """Return the F1 of the longest common subsequence of words, 0..1."""
    one, other = words(candidate), words(reference)
    return f1(common_subsequence(one, other), len(one), len(other))
