"""Stored messages about verdicts that the program made, replies without a verdict, and runs that stopped. PURE.

A row keeps the English text and, in the column beside it, the code. Words of a model are quoted as they are.
"""

from core.messages.message import Untranslated, Wording

DECLINED = Wording("judge.declined", "the model declined")
TOKENS_UNKNOWN = Wording(
    "judge.tokens_unknown", "The endpoint does not report how many tokens it read, which a likelihood needs."
)
HELD_BACK = Wording("judge.held_back", "the endpoint's filter held the reply back")
ENDED_WITHOUT = Wording("judge.ended_without", "the reply ended (%(reason)s) without a word")
TOKENS_USED_UP = Wording("judge.tokens_used_up", "the reply reached its token limit before the answer was complete")
NO_JSON = Wording("judge.no_json", "no JSON in: %(start)s")
EMPTY_REPLY = Wording("judge.empty_reply", "an empty reply")
BREAKS_OFF = Wording("judge.breaks_off", "the JSON breaks off at: %(end)s")
NO_NAMED_QUESTIONS = Wording("judge.no_named_questions", "no JSON object that names the questions")
NO_ANSWER_TO = Wording("judge.no_answer_to", "no JSON object that answers %(item)s")
TWICE = Wording("judge.twice", "%(item)s is answered twice")
SO_OFTEN = Wording("judge.so_often", "%(item)s is answered %(n)s times")
GIVEN_TWICE = Wording("judge.given_twice", "%(item)s is given twice")
TWO_VERDICTS = Wording("judge.two_verdicts", "%(item)s has two verdicts")
TWO_SCORES = Wording("judge.two_scores", "%(item)s has two scores")
NO_SUCH_QUESTION = Wording("judge.no_such_question", "%(name)s is none of the %(n)s questions")
LEFT_OUT = Wording("judge.left_out", "%(n)s of %(all)s questions answered; %(item)s is missing")
NO_SCORE = Wording("judge.no_score", "%(item)s has no score")
LACKS = Wording("judge.lacks", "%(item)s has no %(what)s")
OFF_SCALE = Wording("judge.off_scale", "%(item)s has %(score)s, which is none of %(scale)s")
NEITHER = Wording("judge.neither", "%(item)s has %(score)s, which is neither yes nor no")

NO_TEXT = Wording("judge.no_text", "the response has no text")
OTHER_NUMBER_OF_TEXTS = Wording("judge.other_number_of_texts", "%(n)s texts to judge, but the method takes %(wanted)s")
NO_HINT = Wording("judge.no_hint", "the instruction has no hint")
NO_REFERENCE = Wording("judge.no_reference", "the instruction has no human reference")
NO_GUIDELINE = Wording("judge.no_guideline", "the study has no guideline")
NO_GUIDES = Wording("judge.no_guides", "the task has no checklist to be guided by")
CANNOT_BE_ASKED = Wording("judge.cannot_be_asked", "This question cannot be asked: %(lack)s.")
LONGER_THAN_CONTEXT = Wording("judge.longer_than_context", "the question is longer than the context of %(n)s tokens")

EMPTY_EMBEDDED = Wording("judge.empty_embedded", "one of the two texts is empty and has no embedding")
OTHER_VECTORS = Wording("judge.other_vectors", "three vectors of one length are needed, not %(found)s")
ZERO_VECTOR = Wording("judge.zero_vector", "a vector is zero or not finite")
NOT_SERVED = Wording("judge.not_served", "model not served: %(model)s has no endpoint that gives log-probabilities")
NOT_SERVED_WHY = Wording(
    "judge.not_served_why", "model not served: %(model)s has no endpoint that gives log-probabilities (%(words)s)"
)
OTHER_SCORES = Wording("judge.other_scores", "The endpoint gave %(found)s for a prompt of more than %(n)s tokens.")
NO_LOG_PROBABILITY = Wording("judge.no_log_probability", "%(entry)s is not a log-probability.")

NOT_ASKED = Wording("judge.not_asked", "not asked")
NOT_SENT = Wording("judge.not_sent", "not sent, because the run was stopped")
UNSCORED = Untranslated("judge.unscored", "%(why)s: %(detail)s")
"""Why an item has no verdict: the key of a Why, and a message or what the model or the endpoint said."""
NUMBERED = Untranslated("judge.numbered", "[%(n)s] %(reason)s")
NO_VERDICT = Wording("judge.no_verdict", "no verdict")
TOO_FEW_VERDICTS = Wording(
    "judge.too_few_verdicts", "%(n)s of %(all)s gave a verdict, %(needed)s are needed; %(detail)s"
)
NO_METHOD_CHOSEN = Wording("judge.no_method_chosen", "no method was chosen for category %(category)s")
METHOD_WITHOUT_VERDICT = Wording("judge.method_without_verdict", "method %(method)s has no verdict on this task")

WEIGHTED = Wording("judge.weighted", "The weighted mean of %(values)s.", between=", ")
WEIGHTED_VALUE = Untranslated("judge.weighted_value", "%(judge)s %(value)s × %(weight)s")
COSINES = Wording("judge.cosines", "Cosine with the reference: %(first)s for A, %(second)s for B.")
LOG_PROBABILITIES = Wording(
    "judge.log_probabilities", "Log-probability of the reference: %(first)s under A's writer, %(second)s under B's."
)
LOG_PROBABILITIES_A_TOKEN = Wording(
    "judge.log_probabilities_a_token",
    "Log-probability of the reference per token: %(first)s under A's writer, %(second)s under B's.",
)
SAME_LEVEL = Wording("judge.same_level", "The same in both orders. [A first] %(first)s [B first] %(second)s")
SAME_SIDE = Wording("judge.same_side", "The same side in both orders. [A first] %(first)s [B first] %(second)s")
ORDERS_DISAGREE = Wording(
    "judge.orders_disagree", "A tie, since the orders disagree. [A first] %(first)s [B first] %(second)s"
)

HOWS = {
    "mean": Wording("judge.hows_mean", "mean"),
    "median": Wording("judge.hows_median", "median"),
    "majority": Wording("judge.hows_majority", "majority"),
}
COMBINED = Wording("judge.combined", "The %(how)s of %(values)s.")
COMBINED_WHY = Wording("judge.combined_why", "The %(how)s of %(values)s. %(reasons)s")
COMBINED_SILENT = Wording("judge.combined_silent", "The %(how)s of %(values)s (%(n)s of %(all)s gave no verdict).")
COMBINED_SILENT_WHY = Wording(
    "judge.combined_silent_why", "The %(how)s of %(values)s (%(n)s of %(all)s gave no verdict). %(reasons)s"
)
DRAWN = Wording("judge.drawn", "Drawn at random.")
ALWAYS = {
    "first": Wording("judge.always_first", "Always the first of the two."),
    "second": Wording("judge.always_second", "Always the second of the two."),
}
MEASURED = {
    "characters": Wording("judge.measured_characters", "Characters: %(first)s for A, %(second)s for B."),
    "rouge": Wording("judge.measured_rouge", "ROUGE-L against the reference: %(first)s for A, %(second)s for B."),
    "rouge_1": Wording("judge.measured_rouge_1", "ROUGE-1 against the reference: %(first)s for A, %(second)s for B."),
}

SCRIPTED = {
    0.0: Wording("judge.scripted_0_0", "Scripted: the quality is missing."),
    0.25: Wording("judge.scripted_0_25", "Scripted: only traces of the quality are there."),
    0.5: Wording("judge.scripted_0_5", "Scripted: half of it is there."),
    0.75: Wording("judge.scripted_0_75", "Scripted: there but for small lapses."),
    1.0: Wording("judge.scripted_1_0", "Scripted: there throughout."),
}
"""What the demonstration's judge says of a quality, by its score."""

JUDGE_FELL = Wording(
    "judge.judge_fell",
    "The judge believed %(n)s canary text(s) that deserve nothing (%(which)s). Change the prompt or the model "
    "before trusting this run.",
)
CANARY_NAMES = {
    "empty": Wording("judge.canary_names_empty", "empty: %(what)s"),
    "refusal": Wording("judge.canary_names_refusal", "refusal: %(what)s"),
    "null": Wording("judge.canary_names_null", "null: %(what)s"),
    "order": Wording("judge.canary_names_order", "order: %(what)s"),
}
"""The canary texts, each with what the judge made of it."""
SCORED_ABOVE = Wording("judge.scored_above", "it scored %(value)s where the median of the run is %(middle)s")
TIED = Wording("judge.tied", "it tied with an ordinary response (%(order)s)")
BEAT = Wording("judge.beat", "it beat an ordinary response (%(order)s)")
A_FIRST, B_FIRST = Wording("judge.a_first", "A first"), Wording("judge.b_first", "B first")
NO_CANARY_JUDGED = Wording(
    "judge.no_canary_judged", "The judge gave no verdict on any canary text, so nothing shows that it can be trusted."
)

NO_MODEL = Wording("judge.no_model", "Judge %(judge)s has no model; create a new judge with one.")
OVER_BUDGET = Wording(
    "judge.over_budget", "The next call might exceed the budget. Raise the budget and resume the run."
)
INTERRUPTED = Wording("judge.interrupted", "The run was interrupted; everything answered so far is kept.")
INTERRUPTED_DECIDING = Wording(
    "judge.interrupted_deciding", "The run was interrupted; everything decided so far is kept."
)
NO_AGREEMENT = Wording("judge.no_agreement", "There is no agreement with people by which to choose a method.")
TOO_FEW_INSTRUCTIONS = Wording(
    "judge.too_few_instructions", "Category %(category)s has %(n)s instruction; two halves need at least 2."
)
NO_METHOD_JUDGED = Wording(
    "judge.no_method_judged", "In category %(category)s no method judged %(share)s of the %(n)s tasks."
)
NO_ROOM = Wording(
    "judge.no_room",
    "None of the first %(n)s questions fits into the context of judge %(judge)s. Serve the model with a longer context, or "
    "ask a model that has one, and resume the run; without this check, start it with --no-probe.",
)
