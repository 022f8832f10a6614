import csv
import gzip
import json
import random
import re

import pytest
from hypothesis import given, settings, strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer
from nltk.tokenize.punkt import PunktLanguageVars, PunktSentenceTokenizer

from generation.text_metrics import counts as textmetrics
from generation.text_metrics.counts import (
    NoWords,
    RepeatedSentence,
    distinct_4,
    most_repeated_sentence,
    repetition_4,
    sentences,
    word_count,
    words,
)
from tests.conftest import shared_path


class Variables391(PunktLanguageVars):
    """What nltk 3.9.1 said of closing quotes, and its plain re, before later versions changed both."""

    re_boundary_realignment = re.compile(r'["\')\]}]+?(?:\s+|(?=--)|$)', re.MULTILINE)
    _re_non_word_chars = r"(?:[)\";}\]\*:@\'\({\[!\?])"

    def __init__(self):
        parts = {
            "NonWord": self._re_non_word_chars,
            "MultiChar": self._re_multi_char_punct,
            "WordStart": self._re_word_start,
            "SentEndChars": self._re_sent_end_chars,
        }
        self._re_word_tokenizer = re.compile(self._word_tokenize_fmt % parts, re.VERBOSE)
        self._re_period_context = re.compile(self._period_context_fmt % parts, re.VERBOSE)


def plain(rules):
    return [(re.compile(rule.pattern), replacement) for rule, replacement in rules]


class Words391(NLTKWordTokenizer):
    """nltk's own tokenizer with the two rules as they stood in 3.9.1."""

    STARTING_QUOTES = [
        *plain(NLTKWordTokenizer.STARTING_QUOTES[:-1]),
        (re.compile(r"(?i)(\')(?!re|ve|ll|m|t|s|d|n)(\w)\b"), r"\1 \2"),
    ]
    PUNCTUATION = plain(rule for rule in NLTKWordTokenizer.PUNCTUATION if "\\u2012" not in rule[0].pattern)
    ENDING_QUOTES = plain(NLTKWordTokenizer.ENDING_QUOTES)


SPLITTER = PunktSentenceTokenizer(lang_vars=Variables391())
TOKENIZER = Words391()


def nltk_words(text):
    return [word for sentence in SPLITTER.tokenize(text) for word in TOKENIZER.tokenize(sentence)]


PIECES = [
    "a",
    "b",
    "Foo",
    "the",
    "1",
    "12",
    "3.5",
    "x",
    "J",
    "e.g",
    "Dr",
    "cannot",
    "wanna",
    "gonna",
    "don't",
    "it's",
    "we'll",
    "'tis",
    "d'ye",
    "more'n",
    "N'T",
    "'",
    "'s",
    '"',
    "''",
    "``",
    "`",
    " ",
    " ",
    " ",
    "\n",
    "\t",
    " ",
    ".",
    ".",
    "...",
    "?",
    "!",
    ",",
    ":",
    ";",
    ")",
    "(",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "»",
    "”",
    "’",
    "“",
    "‘",
    "«",
    "-",
    "--",
    "—",
    "…",
    "*",
    "@",
    "#",
    "%",
    "&",
    "_",
    "é",
    "中",
    "。",
    "\x1c",
    "\r\n",
]


UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_words_and_sentences_are_those_of_nltk(text):
    assert sentences(text) == SPLITTER.tokenize(text)
    assert words(text) == nltk_words(text)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_counted_as_nltk_counts_it(text):
    text = UNSPACED.sub("x", text)
    assert word_count(text) == len(nltk_words(text))


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_the_count_is_the_number_of_words(text):
    text = UNSPACED.sub("x", text)
    assert word_count(text) == len(words(text))


RULES = [*textmetrics._BEFORE_PADDING, *textmetrics._AFTER_PADDING]
CONTRACTED = ("cannot", "gimme", "gonna", "gotta", "lemme", "more'n", "wanna", "'tis", "d'ye", "n't", "'ll")


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule[0] != {" "}])  # which every sentence has
def test_a_rule_changes_nothing_where_its_signs_are_missing(rule):
    signs, pattern, put = rule
    drawn = random.Random(pattern.pattern)
    parts = [part for part in "«“‘„`\"' ([{<.:,;@#$%&?!*])}>-»”’\n\t1a城İıſK" if part not in signs]
    parts += [part for part in CONTRACTED if not signs & set(part)]
    for _ in range(300):
        sentence = "".join(drawn.choices(parts, k=12))
        assert pattern.sub(put, sentence) == sentence


def test_a_quote_before_a_line_break_is_counted_otherwise_than_one_before_a_space():
    # "it's' x": the quote goes first, then the clitic: it, 's, '. Before a line break only the quote goes.
    assert words("it's' x y") == ["it", "'s", "'", "x", "y"]
    assert words("it's'\nx y") == ["it's", "'", "x", "y"]
    assert word_count("it's' x y") == 5
    assert word_count("it's'\nx y") == 4


def test_untrained_splitter_breaks_after_a_title_but_not_after_an_initial():
    assert sentences("Dr. Smith saw J. Bach. He left.") == ["Dr.", "Smith saw J. Bach.", "He left."]


def test_every_sample_response_has_the_published_word_count():
    texts = {}
    for path in sorted(shared_path("hellobench/sample_repo/results/generations").rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            value = json.loads(line)
            texts[path.parent.name, value["id"]] = value["response"]
    with gzip.open(shared_path("hellobench/responses.csv.gz"), "rt", encoding="utf-8") as file:
        counted = {
            (row["model"], row["id"]): int(row["wc_nltk_punkt_untrained"])
            for row in csv.DictReader(file)
            if (row["model"], row["id"]) in texts
        }
    assert len(counted) == len(texts) == 90
    assert {key: word_count(texts[key]) for key in counted} == counted


def test_repetition_counts_distinct_four_grams_that_come_again():
    # a b c d | b c d a | c d a b | d a b c | a b c d: 4 distinct 4-grams, of which "a b c d" comes twice.
    assert repetition_4("a b c d a b c d") == pytest.approx(1 / 4)
    assert repetition_4("a b c d e") == 0


def test_distinct_counts_four_grams_over_all_tokens():
    # Two texts of five tokens: a b c d, b c d e in both; two distinct 4-grams over ten tokens.
    assert distinct_4(["a b c d e", "a b c d e"]) == pytest.approx(2 / 10)


@given(st.lists(st.sampled_from(["one", "two", "three"]), min_size=4, max_size=60).map(" ".join))
def test_shares_are_shares(text):
    assert 0 <= repetition_4(text) <= 1
    assert 0 <= distinct_4([text, text]) <= 1


def test_the_sentence_said_most_often():
    assert most_repeated_sentence("Stop it. Go on. Stop it.") == RepeatedSentence("Stop it.", 2)


def test_too_little_text_has_no_share():
    for measure in (repetition_4, most_repeated_sentence):
        with pytest.raises(NoWords):
            measure("")
    with pytest.raises(NoWords):
        distinct_4([])


def test_a_long_text_is_counted_as_its_words_are():
    text = "The model's answer (see below) wasn't short, e.g. it's long... Isn't it? " * 2000
    assert word_count(text) == len(words(text)) == word_count(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("今天天气很好，我们去公园散步。" * 24 + "春眠不觉晓", 13 * 24 + 5),
        ("模型 GPT-4 答对了", 5 + 1),
        ("她说：“你好”——然后走了……", 8),
        ("A plain sentence, “quoted”.", len(words("A plain sentence, “quoted”."))),
        ("日本語のテキスト", 8),
    ],
)
def test_chinese_and_japanese_are_counted_by_the_character(text, count):
    assert word_count(text) == count


def test_a_long_run_of_marks_takes_no_time():
    assert word_count("——" * 200_000 + "好") == 1
