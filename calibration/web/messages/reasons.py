"""Why a part of a report has no answer, and what to do about it, in the reader's language."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from calibration.web.messages.statistics import reason_words


def reason_of(part: Mapping[str, Any]) -> str:
    """The sentence for a part {"why", "reason"} of a report."""
    said = {
        "ConfoundedEffects": gettext(
            "Two sources of variance change together in these ratings and cannot be told apart; let more raters "
            "share items, or repeat some tasks."
        ),
        "DisconnectedComparisons": gettext(
            "Some models were never compared with the others, not even through a third one; compare across the "
            "groups first."
        ),
        "UnboundedStrength": gettext(
            "Some models never lost to the others, so that no finite strength is large enough for them; collect "
            "more comparisons."
        ),
        "NoTieModel": gettext(
            "Too few ties, or too little contradiction among the other games, to estimate how readily ties are called."
        ),
        "EffectNotIdentified": gettext(
            "These games cannot separate the effect from the models' strengths; show every model on both sides."
        ),
        "MissingCells": gettext("Not every model has an answer on every instruction that is compared."),
        "NeverSeparates": gettext("The two models are so close that no reasonable number of labels separates them."),
        "NoDifference": gettext("The two models' means are equal; no number of labels separates them."),
        "TargetOutOfReach": gettext("No number of raters that was considered reaches this reliability."),
        "OutOfRange": gettext("A value lies off the range on which this is defined; check the scales of the data."),
        "TooFewRaters": gettext("Fewer raters than this needs; let more people rate."),
        "TooFewModels": gettext("Only one model has been rated, so there is nothing to rank."),
        "TooFewModelMeans": gettext(
            "Fewer than three models were scored by both, so their means cannot be correlated."
        ),
        "NoFurtherVerdicts": gettext(
            "Every response the judge scored was scored by people too; a judge adds something once it scores more."
        ),
        "AboutVerdicts": gettext(
            "This study reviews a judge's verdicts. Its answers say whether a verdict is reasonable; they are not scores "
            "of the responses, so no model is ranked by them."
        ),
        "NoSharedTasks": gettext(
            "Fewer than two instructions have an answer of every model, so models cannot be compared on the same tasks."
        ),
        "TooFewAnswers": gettext("No rater has answered five tasks yet; nothing is said of a rater before that."),
        "NeverRepeated": gettext(
            "Nobody was asked the same task twice yet; repeat a few tasks to see how steady raters are."
        ),
        "NoPositions": gettext("It is not recorded which side was shown first."),
        "NoLengths": gettext("The texts of the responses are not stored, so their lengths are unknown."),
        "NoTimes": gettext("Time on task, or the length of what was read, has not been recorded."),
        "NoControls": gettext("There are no planted controls or tasks with a known answer in this study."),
        "NoPairs": gettext("There are no comparisons of two models in this study."),
        "AllTied": gettext("Every comparison was called a tie, so no side was ever preferred."),
        "NoCategories": gettext("This is for choices among labels; the scales of this study are ordered."),
        "OnlyJudges": gettext(
            "Only judges have answered in this study so far; what they answer says nothing of raters. Let people rate it."
        ),
        "OnlySlots": gettext("The data number positions, not persons, so nothing is said about single raters."),
        "NoPooling": gettext("There is only one category, so there is nothing to draw its weights toward."),
        "NeverSwapped": gettext("No pair was shown to the same rater from both sides."),
        "NeverReviewed": gettext("Nobody has reviewed a verdict yet; make a study that reviews this judge's verdicts."),
        "NoFamily": gettext(
            "It is not known which family of models this judge belongs to; give its model a family in the library."
        ),
        "NoJudge": gettext("No judge has given a verdict on this in the study."),
    }
    return said.get(str(part["why"])) or reason_words(str(part["why"]))
