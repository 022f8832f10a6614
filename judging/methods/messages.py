"""Stored messages about verdicts that the program made, replies without a verdict, and runs that stopped. PURE.

Each is stored in English and read back for a page. Words of a model are quoted as they are.
"""

from core.messages.sentences import Wording

COUNT = r"\d+"
QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""

DECLINED = Wording("the model declined")
TOKENS_UNKNOWN = Wording("The endpoint does not count the tokens that it reads, which a likelihood needs.")
HELD_BACK = Wording("the endpoint's filter held the reply back")
ENDED_WITHOUT = Wording("the reply ended (%(reason)s) without a word", reason=r"\w+")
TOKENS_USED_UP = Wording("the reply reached its token limit before the answer was complete")
NO_JSON = Wording("no JSON in: %(start)s")
EMPTY_REPLY = Wording("an empty reply")
BREAKS_OFF = Wording("the JSON breaks off at: %(end)s")
NO_NAMED_QUESTIONS = Wording("no JSON object that names the questions")
NO_ANSWER_TO = Wording("no JSON object that answers %(item)s", item=QUOTED)
TWICE = Wording("%(item)s is answered twice", item=QUOTED)
SO_OFTEN = Wording("%(item)s is answered %(n)s times", item=QUOTED)
GIVEN_TWICE = Wording("%(item)s is given twice", item=QUOTED)
TWO_VERDICTS = Wording("%(item)s has two verdicts", item=QUOTED)
TWO_SCORES = Wording("%(item)s has two scores", item=QUOTED)
NO_SUCH_QUESTION = Wording("%(name)s is none of the %(n)s questions", name=QUOTED)
LEFT_OUT = Wording("%(n)s of %(all)s questions answered; %(item)s is missing", n=COUNT, all=COUNT, item=QUOTED)
NO_SCORE = Wording("%(item)s has no score", item=QUOTED)
LACKS = Wording("%(item)s has no %(what)s", item=QUOTED)
OFF_SCALE = Wording("%(item)s has %(score)s, which is none of %(scale)s", item=QUOTED)
NEITHER = Wording("%(item)s has %(score)s, which is neither yes nor no", item=QUOTED)

NO_TEXT = Wording("the response has no text")
OTHER_NUMBER_OF_TEXTS = Wording("%(n)s texts to judge where the method takes %(wanted)s", n=COUNT)
NO_HINT = Wording("the instruction has no hint")
NO_REFERENCE = Wording("the instruction has no human reference")
NO_GUIDELINE = Wording("the study has no guideline")
NO_GUIDES = Wording("the task has no checklist to be guided by")
CANNOT_BE_ASKED = Wording("This question cannot be asked: %(lack)s.")
LONGER_THAN_CONTEXT = Wording("the question is longer than the context of %(n)s tokens")

EMPTY_EMBEDDED = Wording("one of the two texts is empty and has no embedding")
OTHER_VECTORS = Wording("three vectors of one length are needed, not %(found)s")
ZERO_VECTOR = Wording("a vector is zero or not finite")
NOT_SERVED = Wording("model not served: %(model)s has no endpoint that gives log-probabilities")
NOT_SERVED_WHY = Wording("model not served: %(model)s has no endpoint that gives log-probabilities (%(words)s)")
OTHER_SCORES = Wording("The endpoint gave %(found)s for a prompt of more than %(n)s tokens.")
NO_LOG_PROBABILITY = Wording("%(entry)s is no log-probability.", entry=QUOTED)

NOT_ASKED = Wording("not asked")
NOT_SENT = Wording("not sent, because the run was stopped")
NO_VERDICT = Wording("no verdict")
TOO_FEW_VERDICTS = Wording("%(n)s of %(all)s gave a verdict, %(needed)s are needed; %(detail)s", n=COUNT, all=COUNT)
NO_METHOD_CHOSEN = Wording("no method was chosen for category %(category)s")
METHOD_WITHOUT_VERDICT = Wording("method %(method)s has no verdict on this task")

NUMBER = r"-?[\d.e+-]+|-?inf|nan"
COSINES = Wording("Cosine with the reference: %(first)s for A, %(second)s for B.", first=NUMBER, second=NUMBER)
LOG_PROBABILITIES = Wording(
    "Log-probability of the reference: %(first)s under A's writer, %(second)s under B's.", first=NUMBER, second=NUMBER
)
LOG_PROBABILITIES_A_TOKEN = Wording(
    "Log-probability of the reference a token: %(first)s under A's writer, %(second)s under B's.",
    first=NUMBER,
    second=NUMBER,
)
SAME_LEVEL = Wording("The same in both orders. [A first] %(first)s [B first] %(second)s")
SAME_SIDE = Wording("The same side in both orders. [A first] %(first)s [B first] %(second)s")
ORDERS_DISAGREE = Wording("A tie, since the orders disagree. [A first] %(first)s [B first] %(second)s")

HOWS = {"mean": Wording("mean"), "median": Wording("median"), "majority": Wording("majority")}
LEVEL = r"(?:-?[\d.]+|a_much|a|tie|both_bad|b|b_much)"
JURY = {"how": "|".join(HOWS), "values": f"{LEVEL}(?:, {LEVEL})*"}
COMBINED = Wording("The %(how)s of %(values)s.", **JURY)
COMBINED_WHY = Wording("The %(how)s of %(values)s. %(reasons)s", **JURY)
COMBINED_SILENT = Wording("The %(how)s of %(values)s (%(n)s of %(all)s gave no verdict).", **JURY)
COMBINED_SILENT_WHY = Wording("The %(how)s of %(values)s (%(n)s of %(all)s gave no verdict). %(reasons)s", **JURY)
DRAWN = Wording("Drawn at random.")
ALWAYS = {"first": Wording("Always the first of the two."), "second": Wording("Always the second of the two.")}
MEASURED = {
    "characters": Wording("Characters: %(first)s for A, %(second)s for B.", first=NUMBER, second=NUMBER),
    "rouge": Wording("ROUGE-L against the reference: %(first)s for A, %(second)s for B.", first=NUMBER, second=NUMBER),
    "rouge_1": Wording(
        "ROUGE-1 against the reference: %(first)s for A, %(second)s for B.", first=NUMBER, second=NUMBER
    ),
}

SCRIPTED = {
    0.0: Wording("Scripted: the quality is missing."),
    0.25: Wording("Scripted: only traces of the quality are there."),
    0.5: Wording("Scripted: half of it is there."),
    0.75: Wording("Scripted: there but for small lapses."),
    1.0: Wording("Scripted: there throughout."),
}
"""What the demonstration's judge says of a quality, by its score."""

JUDGE_FELL = Wording(
    "The judge fell for %(n)s planted text(s) that deserve nothing (%(which)s). Change the prompt or the model before "
    "trusting this run."
)
CANARY_NAMES = {
    "empty": Wording("empty: %(what)s"),
    "refusal": Wording("refusal: %(what)s"),
    "null": Wording("null: %(what)s"),
    "order": Wording("order: %(what)s"),
}
"""The planted texts, each with what the judge made of it."""
SCORED_ABOVE = Wording("it scored %(value)s where the median of the run is %(middle)s")
TIED = Wording("it tied with an ordinary response (%(order)s)")
BEAT = Wording("it beat an ordinary response (%(order)s)")
A_FIRST, B_FIRST = Wording("A first"), Wording("B first")
NO_CANARY_JUDGED = Wording("The judge gave no verdict on any planted text, so nothing shows that it can be believed.")

NO_MODEL = Wording("Judge %(judge)s has no model; make it anew with one.")
OVER_BUDGET = Wording("The next call might cross the budget; raise it and resume.")
INTERRUPTED = Wording("Interrupted; everything answered so far is kept.")
INTERRUPTED_DECIDING = Wording("Interrupted; everything decided so far is kept.")
NONE_HELD_OUT = Wording("Method %(method)s judged none of the held-out tasks.")
NO_AGREEMENT = Wording("There is no agreement to choose a method by.")
TOO_FEW_INSTRUCTIONS = Wording("Category %(category)s has %(n)s instruction; two halves need at least 2.")
NO_METHOD_JUDGED = Wording("In category %(category)s no method judged %(share)s of the %(n)s tasks.")
NONE_HELD_OUT_IN = Wording("In category %(category)s method %(method)s judged none of the held-out tasks.")
