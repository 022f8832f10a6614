"""Why a cell of HelloBench's printed tables cannot be recomputed, or may differ from ours."""

from core.messages.message import Wording

THESE_INSTRUCTIONS = Wording(
    "hellobench.these_instructions",
    "Ours are the instructions that are loaded here; the repository's data/main_data has all of them.",
)
NO_INSTRUCTION = Wording("hellobench.no_instruction", "No instruction of this category is here.")
UNTRAINED = Wording(
    "hellobench.untrained", "Words are counted here behind an untrained sentence splitter, in the paper by NLTK's own."
)
NO_EXACT_WEIGHTS = Wording(
    "hellobench.no_exact_weights", "The repository's weights are missing; load weighted_scores.txt with the repository."
)
NO_FIT = Wording(
    "hellobench.no_fit",
    "No weights were fitted to people's scores of this category; upload human annotations as a table of "
    "ratings, then fit the weights.",
)
NOT_ALL_TEXTS = Wording(
    "hellobench.not_all_texts", "%(n)s of %(whole)s instructions have a text here; load data/main_data."
)
FITTED_TO = Wording("hellobench.fitted_to", "Fitted here to %(n)s responses.")
NOT_HERE = Wording("hellobench.not_here", "HelloBench is not here; upload its repository as a benchmark.")
NO_VERDICTS_IN = Wording(
    "hellobench.no_verdicts_in",
    "No checklist verdicts of GPT-4o in experiment %(experiment)s; load results/judgements.",
)
NO_WEIGHTS = Wording(
    "hellobench.no_weights", "The published weights are missing; load weighted_scores.txt with the repository."
)
TOO_FEW_SCORES = Wording(
    "hellobench.too_few_scores", "Fewer than three responses have both scores, or all scores of one side are alike."
)
NO_REFERENCE = Wording(
    "hellobench.no_reference",
    "These instructions have no human reference; load instructions with a column reference to measure overlap.",
)
NO_PERPLEXITY = Wording("hellobench.no_perplexity", "No perplexity is here; it is the criterion perplexity of a judge.")
NO_JUDGE = Wording(
    "hellobench.no_judge", "No judge of this kind has scored these responses; run one, or load its verdicts."
)
NO_OVERALL_SCORES = Wording(
    "hellobench.no_overall_scores",
    "No overall scores from people are here; upload human annotations as a table of ratings.",
)
OVER_RESPONSES = Wording("hellobench.over_responses", "Recomputed over %(n)s responses.")
NO_SUMMARY = Wording(
    "hellobench.no_summary", "No summary has an overall score from people; load human ratings of summarization."
)
ON_OVERALL_SCORES = Wording(
    "hellobench.on_overall_scores",
    "The paper does not say on which scores; here, on overall scores, with raters in order of name.",
)
BY_NAME = Wording("hellobench.by_name", "Raters are in order of name, as the paper does not say who is who.")
NO_REVIEWS = Wording(
    "hellobench.no_reviews", "Nobody has reviewed verdicts of this judge; start a review from its run."
)
NO_PAIRS = Wording(
    "hellobench.no_pairs",
    "People have not compared this model with the baseline; upload their choices as a table of preferences.",
)
FEW_IN_COMMON = Wording(
    "hellobench.few_in_common",
    "A correlation of two raters needs at least %(needed)s answers to the same questions, and each rater's must differ "
    "among themselves; these two have fewer, or theirs are all alike.",
)
OTHER_NUMBER = Wording(
    "hellobench.other_number", "%(n)s people answered here, in the paper %(wanted)s; load the answers of as many."
)
NO_ANSWERS = Wording(
    "hellobench.no_answers", "Nobody has answered the criterion %(key)s here; upload the answers as a table of ratings."
)
OVER_FINDINGS = Wording("hellobench.over_findings", "Recomputed over %(n)s findings.")
OVER_COMPARISONS = Wording("hellobench.over_comparisons", "Recomputed over %(n)s comparisons, a tie counting half.")
NOT_ALL_VERDICTS = Wording(
    "hellobench.not_all_verdicts", "Some of these verdicts are missing; load results/judgements."
)
AUTHORS_VERDICTS = Wording(
    "hellobench.authors_verdicts",
    "The authors' own verdicts and weights give this score; neither the paper nor the repository says why"
    " another one is printed.",
)
NEITHER_SPLITTER = Wording(
    "hellobench.neither_splitter",
    "nltk's trained English sentence splitter, behind which the authors count words, does not give this "
    "figure either; the reason is not known.",
)
NO_VERDICTS = Wording("hellobench.no_verdicts", "This model has no verdicts here; load its results.")
NO_TEXTS = Wording("hellobench.no_texts", "The texts of these responses are missing; load results/generations.")
FOLLOWS = Wording("hellobench.follows", "Follows from %(categories)s, whose recomputed score differs.")
SPLITTER_NOT_CHECKED = Wording(
    "hellobench.splitter_not_checked",
    "The authors count words behind nltk's trained English sentence splitter, here it is untrained. "
    "Whether this is the whole difference was not checked.",
)
TRAINED_SPLITTER = Wording(
    "hellobench.trained_splitter",
    "The authors count words behind nltk's trained English sentence splitter, with which this figure was "
    "reproduced; here the splitter is untrained.",
)
FEW_VERDICTS = Wording(
    "hellobench.few_verdicts", "%(n)s of %(whole)s instructions of %(category)s have a usable verdict here."
)
MISPRINTS = {
    ("Yi-1.5-34B", "AVG_S"): Wording(
        "hellobench.misprint_average",
        "The five scores printed beside it have a mean of 23.62, and no rounding of theirs gives 23.63.",
    ),
    ("Suri-I-ORPO", "Chat_S"): Wording(
        "hellobench.misprint_chat",
        "The average printed in the same row, -83.58, needs a chat score between -118.18 and -118.08, and -118.15 is "
        "recomputed.",
    ),
}
"""Why a printed figure cannot be right, by the printed name of the model and the column."""
UNKNOWN = Wording(
    "hellobench.unknown",
    "Nearly all verdicts on these instructions are here; why the printed score is another is not known.",
)
UNKNOWN_WEIGHT = Wording(
    "hellobench.unknown_weight", "The weight that is loaded here is another; why it differs is not known."
)
