"""What an audit says of a file and of the judges in it. PURE."""

from core.messages.message import Message, Wording

# What stops an audit.
TWO_READINGS = Wording(
    "audit.two_readings", "%(file)s can be read in two ways: %(one)s, or %(other)s; say which is meant with %(option)s."
)
NOT_FOUND = Wording(
    "audit.not_found",
    "%(file)s: no column for %(role)s was found; name it with %(option)s. The columns are %(columns)s.",
)
UNKNOWN_COLUMN = Wording(
    "audit.unknown_column", "%(file)s: there is no column %(column)s; the columns are %(columns)s."
)
UNKNOWN_RATER = Wording(
    "audit.unknown_rater", "%(file)s: neither a column nor a rater is called %(name)s; the raters are %(raters)s."
)
UNKNOWN_ROLE = Wording("audit.unknown_role", "--column %(given)s is not ROLE=COLUMN; the roles are %(roles)s.")
BOTH = Wording("audit.both", "%(file)s: %(name)s is given for people and for judges; keep one of the two.")
NO_SCORES = Wording(
    "audit.no_scores",
    "%(file)s: %(column)s holds neither numbers nor at most %(most)s labels (line %(line)s: %(value)s); name another "
    "column.",
)
NO_VERDICT = Wording(
    "audit.no_verdict",
    "%(file)s: %(column)s holds %(value)s in line %(line)s, which says for no side that it is better; write 1, 2 or tie.",
)
NOTHING_TO_COMPARE = Wording(
    "audit.nothing", "%(file)s: no value of a person or a judge was found; name their columns."
)

# How a column was chosen.
BY_NAME = Wording("audit.by_name", "the name says so")
BY_NAME_AND_CONTENT = Wording("audit.by_name_and_content", "the name says so, and the values are scores or verdicts")
BY_OPTION = Wording("audit.by_option", "an option names it")
BY_KIND = Wording("audit.by_kind", "the column %(column)s says so")
BY_RATER = Wording("audit.by_rater", "the names in %(column)s are those of language models or judges")
BY_COLUMN = Wording("audit.by_column", "judges stand in the column %(column)s")
ALL_PEOPLE = Wording("audit.all_people", "no name in %(column)s is that of a language model or a judge")
EVERY_ROW = Wording("audit.every_row", "no column names items, so every row is an item of its own")
BY_NAME_AND_MOMENTS = Wording("audit.by_name_and_moments", "the name says so, and the values are moments in time")
FROM_MARKS = Wording("audit.from_marks", "headings, lists, tables and bold words in the texts")
FROM_TEXT = Wording("audit.from_text", "the number of characters of the texts")

ONE_ROLE = Wording("audit.reading_role", "%(column)s is the column of %(role)s")
READ_LONG = Wording("audit.reading_long", "one rating in each row (%(rater)s and %(score)s)")
READ_WIDE = Wording("audit.reading_wide", "one column for each rater (%(columns)s)")
ZERO_TIE = Wording("audit.reading_tie", "in %(column)s, 1 is the first side and 0 is a tie")
ZERO_SECOND = Wording("audit.reading_second", "in %(column)s, 1 is the first side and 0 is the second")

ROLES = {
    "item": Wording("audit.role_item", "items"),
    "model": Wording("audit.role_model", "model"),
    "sides": Wording("audit.role_sides", "models of the two sides"),
    "criterion": Wording("audit.role_criterion", "criterion"),
    "rater": Wording("audit.role_rater", "raters"),
    "kind": Wording("audit.role_kind", "kind of rater"),
    "score": Wording("audit.role_score", "scores"),
    "length": Wording("audit.role_length", "length"),
    "position": Wording("audit.role_position", "position"),
    "format": Wording("audit.role_format", "formatted or plain"),
    "time": Wording("audit.role_time", "time of the verdict"),
    "people": Wording("audit.role_people", "people"),
    "judge": Wording("audit.role_judge", "judges"),
}

# What was read.
TITLE = Wording("audit.title", "Audit of %(file)s")
READ = Wording("audit.read", "Rows: %(rows)s. Items: %(items)s. People: %(people)s. Judges: %(judges)s.")
UNREADABLE = Wording("audit.unreadable", "Values that could not be read and were left out: %(n)s.")
BAD_ROWS = Wording("audit.bad_rows", "Rows that could not be read and were left out: %(n)s; the first: %(first)s")
COLUMNS = Wording("audit.columns", "Columns")
CHOSEN = Wording("audit.chosen", "%(role)s: read from %(columns)s (%(reason)s)")
KINDS = {
    "numbers": Wording("audit.kind_numbers", "The values are read as numbers."),
    "labels": Wording("audit.kind_labels", "The values are read as labels without an order."),
    "pairs": Wording(
        "audit.kind_pairs", "The values are read as verdicts on two sides: the first, the second, or a tie."
    ),
}

# The verdict at the top.
CLEAN = Wording("audit.clean", "No finding: of %(tests)s tests, none has a p below 0.05 after Holm's correction.")
FOUND = Wording("audit.found", "Findings: %(findings)s of %(tests)s tests have a p below 0.05 after Holm's correction.")
NOTHING_TESTED = Wording("audit.nothing_tested", "Nothing could be tested; see what this file cannot say.")

# Agreement.
AGREEMENT = Wording("audit.agreement", "Agreement, and its human ceiling on the same items")
ALPHA = Wording("audit.alpha", "People among themselves: Krippendorff's alpha %(value)s (%(interval)s).")
AGREES_SHARE = Wording(
    "audit.agrees_share",
    "%(judge)s gives the most frequent answer of all people but one in %(value)s of %(items)s tasks; a person does so in "
    "%(ceiling)s. The difference is %(difference)s (%(interval)s).",
)
AGREES_CORRELATION = Wording(
    "audit.agrees_correlation",
    "The scores of %(judge)s correlate at %(value)s with the mean of all people but one, and those of a person at "
    "%(ceiling)s, each over the same tasks (number: %(items)s). The difference is %(difference)s (%(interval)s).",
)
SUCH = Wording("audit.such", "95 percent for raters like these %(low)s to %(high)s, for exactly these raters %(these)s")
THESE = Wording(
    "audit.these",
    "95 percent for exactly these raters %(low)s to %(high)s; for raters like these it is not stated %(why)s",
)
NO_INTERVAL = Wording("audit.no_interval", "no interval %(why)s")
BETWEEN = Wording("audit.between", "%(low)s to %(high)s")
WHY = {
    "few_instructions": Wording("audit.few_items", "because there are fewer than 20 items"),
    "few_raters": Wording("audit.few_raters", "because there are fewer than 3 people"),
    "one_person": Wording("audit.one_person", "because it is about one person"),
    "judge_alone": Wording("audit.judge_alone", "because it compares the judge with itself"),
    "undefined_without_one": Wording("audit.undefined", "because it is not defined without one of the raters or items"),
}

# Biases.
TESTS = Wording("audit.tests", "Tests, and bias beyond what people do")
EFFECTS = {
    "agreement": Wording("audit.effect_agreement", "%(judge)s: agreement with people minus theirs with one another"),
    "severity": Wording("audit.effect_severity", "%(judge)s: mean score minus that of people"),
    "position": Wording("audit.effect_position", "%(judge)s: points for the side shown first, beyond what people give"),
    "order": Wording("audit.effect_order", "%(judge)s: points for each place further on, beyond what people give"),
    "length": Wording("audit.effect_length", "%(judge)s: points for twice the length, beyond what people give"),
    "format": Wording("audit.effect_format", "%(judge)s: points for a formatted response, beyond what people give"),
    "drift": Wording(
        "audit.effect_drift",
        "%(judge)s: points from its first verdict to its last, beyond what people give the same tasks",
    ),
    "copy": Wording(
        "audit.effect_copy", "%(judge)s: the share of what sets %(person)s apart from other people that it repeats"
    ),
    "family": Wording("audit.effect_family", "%(judge)s: points for models of its own family, beyond what people give"),
    "swaps": Wording(
        "audit.effect_swaps",
        "%(judge)s: of the repeats with swapped sides, the share that stays with the first side minus the share that "
        "stays with the second",
    ),
}


def effect(kind: str, judge: str, person: str = "") -> Message:
    """What a check measures; `person` is named by a copy only."""
    return EFFECTS[kind](judge=judge, person=person) if person else EFFECTS[kind](judge=judge)


EFFECT = Wording("audit.effect", "%(what)s: %(value)s (%(interval)s); p %(p)s, corrected %(corrected)s. %(verdict)s")
A_FINDING = Wording("audit.a_finding", "This is a finding.")
NOT_SHOWN = Wording(
    "audit.not_shown", "This is not shown; a difference of %(least)s would be found with a power of 0.8."
)
BETTER = Wording("audit.better", "The judge agrees with people more than they do with one another, which is no fault.")

# Repeats.
REPEATS = Wording("audit.repeats", "The same question again")
REPEATED = Wording(
    "audit.repeated", "%(judge)s gives the same answer in %(share)s of %(n)s repeats (95 percent: %(low)s to %(high)s)."
)
REPEATED_SWAPPED = Wording(
    "audit.repeated_swapped",
    "%(judge)s prefers the same response in %(share)s of %(n)s repeats with the sides swapped (95 percent: %(low)s to "
    "%(high)s).",
)
REPEATED_RANGE = Wording(
    "audit.repeated_few",
    "%(judge)s gives the same answer in %(share)s of %(n)s repeats; under 20 items no interval is stated.",
)

# What cannot be said.
CANNOT_SAY = Wording("audit.cannot_say", "What this file cannot say")
NO_JUDGE = Wording("audit.no_judge", "Nothing about a judge: no column of one was found; name it with --judge.")
NO_PEOPLE = Wording(
    "audit.no_people", "Whether a judge agrees with people: no column of a person was found; name it with --people."
)
NO_CEILING = Wording(
    "audit.no_ceiling",
    "How far people agree among themselves, which a judge is measured by: no task has the answers of two people.",
)
NO_LENGTHS = Wording(
    "audit.no_lengths", "Whether length sways a judge: no column holds lengths or texts of the responses."
)
NO_FORMAT = Wording(
    "audit.no_format", "Whether formatting sways a judge: no column holds texts or says which responses are formatted."
)
NO_TIMES = Wording("audit.no_times", "Whether a judge drifts: no column holds the time of its verdicts.")
NO_COPY = Wording(
    "audit.no_copy", "Whether %(judge)s copies one person: no person shares 20 items with it and with two other people."
)
NO_MODELS = Wording("audit.no_models", "Whether a judge favours its own family: no column names models.")
NO_FAMILY = Wording(
    "audit.no_family", "Whether %(judge)s favours its own family: its name and the models' names share no known family."
)
NO_POSITION = Wording(
    "audit.no_position", "Whether position sways a judge: no column tells the sides of a pair or a position."
)
NO_ORDER = Wording("audit.no_order", "Biases: labels without an order cannot be compared with lengths or positions.")
NO_REPEATS = Wording("audit.no_repeats", "How often a judge changes its mind: no task was put to it twice.")
NOT_DEFINED = Wording("audit.not_defined", "%(what)s: not defined on these values, in which too little varies.")
TOO_FEW = Wording(
    "audit.too_few", "%(what)s: an interval needs at least 20 items that both have answered; this file has %(n)s."
)
MORE_ITEMS = Wording(
    "audit.more_items",
    "%(what)s: about %(n)s items (%(low)s to %(high)s) would show a difference of %(target)s with 80 percent power; this "
    "file has %(have)s.",
)
MORE_RATERS = Wording(
    "audit.more_raters",
    "%(what)s: more items alone would not show a difference of %(target)s for raters like these with 80 percent power; more "
    "people are needed.",
)

# The page and the command.
WRITTEN = Wording("audit.written", "The page was written to %(path)s.")
FIGURE_AGREEMENT = Wording("audit.figure_agreement", "Agreement with people: judges and people themselves")
FIGURE_BIASES = Wording("audit.figure_biases", "What was tested: each difference with its 95 percent interval")
JUDGE_SERIES = Wording("audit.series_judge", "judge")
PEOPLE_SERIES = Wording("audit.series_people", "people themselves")
CAUTION = Wording(
    "audit.caution",
    "All tests of this audit are corrected together. A bias is measured against the people in this file, at equal quality "
    "as they see it.",
)
NOT_WRITTEN = Wording("audit.not_written", "%(path)s cannot be written (%(words)s); name another file with --html.")
