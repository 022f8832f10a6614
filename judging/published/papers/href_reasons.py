"""Why a cell of HREF's printed tables cannot be recomputed, or may differ from ours."""

from core.messages.message import Wording

RANK_RULE = Wording(
    "href.rank_rule",
    "The paper does not say by which rule models share a rank; the script of its repository compares "
    "bootstrap intervals, and here paired t tests decide.",
)
NOT_PUBLIC_SO = Wording(
    "href.not_public_so", "The evaluation set is not public, so that nothing was judged on it here."
)
NO_PREFERENCES = Wording(
    "href.no_preferences",
    "No people's preferences between HREF's responses are here; upload the human agreement set "
    "(allenai/href_preference) as a benchmark.",
)
RUN_METHOD_WITH = Wording("href.run_method_with", "run a judge by the method %(method)s with %(model)s")
NO_VERDICT_IN_CATEGORY = Wording("href.no_verdict_in_category", "The judge has no usable verdict in this category.")
ON_PAIRS = Wording("href.on_pairs", "Computed on %(n)s pairs.")
TIED_LABELS = Wording(
    "href.tied_labels",
    "The paper draws one of tied labels at random; here they count by their expectation. Whether that is "
    "all is not known.",
)
RANK_NEEDS_ALL = Wording(
    "href.rank_needs_all", "A rank needs all %(all)s models judged on shared instructions; %(n)s are."
)
NO_VERDICT_AGAINST = Wording(
    "href.no_verdict_against", "This model has no verdict against the baseline here, or none in this category."
)
NOBODY_COMPARED = Wording(
    "href.nobody_compared",
    "No judge has compared models with the baseline on the development set; load it (allenai/href) with "
    "the models' responses and judge the pairs, or load the annotations that the authors' code writes.",
)
SAME_JUDGE = Wording("href.same_judge", "Judged under the name of the paper's judge; why it differs is not known.")
ON_AGREEMENT_SET = Wording(
    "href.on_agreement_set",
    "Computed on the human agreement set; the paper says the development set, which has no annotations.",
)
JUDGE_THREE = Wording(
    "href.judge_three",
    "Judge at least three models against the baseline on the development set by this template and by "
    "template A; name the judges so that they say “prompt A” and so on.",
)
LOADED_HERE = Wording("href.loaded_here", "These are the instructions that are loaded here.")
OVER_BOTH = Wording("href.over_both", "Over the %(n)s models that both tables print.")
TOO_FEW_FOR_HALVES = Wording(
    "href.too_few_for_halves",
    "A composite is chosen on one half of the instructions and measured on the other. That needs at least two "
    "instructions in each category, and in each half of it a judge with verdicts on four fifths of the tasks; a category "
    "here lacks one of these.",
)
RUN_METHOD = Wording("href.run_method", "run a judge by the method %(method)s")
OTHER_CATEGORIES = Wording(
    "href.other_categories", "This is over 11 categories, and the tasks here have none of: %(categories)s."
)
NO_VERDICT = Wording("href.no_verdict", "The judge has no usable verdict here.")
NO_TASK_OF_CATEGORY = Wording(
    "href.no_task_of_category",
    "No task here is of this category; the public agreement set has the 8 general categories only.",
)
CHOSEN_ON_THE_SAME = Wording(
    "href.chosen_on_the_same",
    "The paper chose each category's method and reported it on the same pairs; here every pair is decided"
    " by a choice in which it had no part.",
)
BOTH_RANDOM = Wording("href.both_random", "Both the paper's choices and ours are random.")
OVER_MODELS = Wording("href.over_models", "Over %(n)s models; the paper's are 33.")
NOT_PUBLIC = Wording("href.not_public", "The evaluation set is not public.")
UPLOAD_DEVELOPMENT = Wording("href.upload_development", "Upload the development set (allenai/href) as a benchmark.")
UPLOAD_AGREEMENT = Wording(
    "href.upload_agreement", "Upload the human agreement set (allenai/href_preference) as a benchmark."
)
NO_SUCH_JUDGE = Wording("href.no_such_judge", "No judge of the human agreement set is the paper's %(rows)s; %(how)s.")
PARTLY = Wording("href.partly", "Fewer than nine tenths of the paper's %(n)s instructions are judged here.")
OTHER_JUDGE = Wording("href.other_judge", "Judged by %(judge)s, not by the paper's composite.")
JUDGE_WITH_TEMPLATE = Wording(
    "href.judge_with_template",
    "Judge the human agreement set by a judge with this template, whose name says “%(template)s”.",
)
