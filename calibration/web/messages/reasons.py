"""Sentences on why a part of a report has no answer and what to do about it, in the reader's language."""

from collections.abc import Iterable

from django.utils.translation import gettext

from calibration.reports.codec import Missing
from calibration.web.messages.statistics import reason_words
from calibration.web.messages.too_few import too_few_words


def reason_of(part: Missing) -> str:
    """Return the sentence for a part of a report that has no answer."""
    counts = part.counts
    if counts:
        return too_few_words(int(counts["n"]), int(counts["needed"]), str(counts["what"]))
    return error_words(part.why)


def missing_notes(parts: Iterable[tuple[str, object]]) -> list[str]:
    """List why some of the named parts have no answer, each sentence once."""
    notes = [f"{name}: {reason_of(part)}" for name, part in parts if isinstance(part, Missing)]
    return list(dict.fromkeys(notes))


def error_words(why: str) -> str:
    """Return the sentence for the code of the error that says why there is no answer."""
    said = {
        "ConfoundedEffects": gettext(
            "Two sources of variance change together in these ratings and cannot be told apart. Have more raters rate "
            "the same items, or repeat some tasks."
        ),
        "DisconnectedComparisons": gettext(
            "Some models were never compared with the others, not even indirectly through a third model. Collect "
            "comparisons across these groups first."
        ),
        "UnboundedStrength": gettext(
            "Some models never lost to the others, so no finite strength is large enough for them. Collect more "
            "comparisons."
        ),
        "NoTieModel": gettext(
            "How often ties occur cannot be estimated: that needs at least one tie, and among the other comparisons wins "
            "that contradict each other, such as one win by each model of a pair."
        ),
        "EffectNotIdentified": gettext(
            "These comparisons cannot separate the effect from the models' strengths. Show every model on both sides."
        ),
        "MissingCells": gettext("Not every model has an answer to every instruction that is compared."),
        "NoDifference": gettext("The two models' means are equal; no number of labels separates them."),
        "TargetOutOfReach": gettext("None of the numbers of raters considered reaches this reliability."),
        "OutOfRange": gettext(
            "A value lies outside the range for which this is defined. Check the scales of the data."
        ),
        "TooFewModels": gettext("Only one model has been rated, so there is nothing to rank."),
        "TooFewRanked": gettext(
            "Fewer than two models were rated on enough instructions to be compared with each other."
        ),
        "TooFewModelMeans": gettext(
            "Fewer than three models were scored by both people and the judge, so their means cannot be correlated."
        ),
        "NoFurtherVerdicts": gettext(
            "People have scored every response that the judge scored. A judge adds information once it scores other "
            "responses as well."
        ),
        "AboutVerdicts": gettext(
            "This study reviews a judge's verdicts. Its answers state whether a verdict is reasonable; they are not "
            "scores of the responses, so they do not rank models."
        ),
        "NoSharedTasks": gettext(
            "Fewer than two instructions have an answer from every model, so models cannot be compared on the same "
            "tasks."
        ),
        "TooFewAnswers": gettext("No rater has answered five tasks yet. Raters are reported from five tasks on."),
        "NobodyToCompare": gettext(
            "There is nobody to compare with: some raters, or groups of raters, share no task with the others. At least one "
            "task that both rated is needed; have several people rate the same tasks."
        ),
        "NoHints": gettext("No task was answered both by raters who saw its hint and by raters who did not."),
        "NeverRepeated": gettext(
            "Nobody has been asked the same task twice yet. Repeat a few tasks to see how consistent raters are."
        ),
        "NoPositions": gettext("The data do not record which side was shown first."),
        "NoLengths": gettext("The texts of the responses are not stored, so their lengths are unknown."),
        "NoTimes": gettext("The time on task or the length of the texts has not been recorded."),
        "NoControls": gettext("This study has no attention checks or gold items."),
        "NoCorrectAnswers": gettext("The correct answer of no task in this study is known."),
        "NoPairs": gettext("This study has no comparisons of two models."),
        "AllTied": gettext("Every comparison was a tie, so no side was ever preferred."),
        "NoCategories": gettext(
            "This applies to choices among unordered labels; the scales of this study are ordered."
        ),
        "OnlyJudges": gettext(
            "Only judges have answered in this study so far. Their answers say nothing about raters; have people rate "
            "as well."
        ),
        "TwoValuedLabels": gettext(
            "Accuracy within one standard deviation is not stated: people gave no more than two different values, and of "
            "two values the rarer one is nearly always farther away, whoever is right. See agreement and the estimated true "
            "answers instead."
        ),
        "OnlySlots": gettext("The data identify positions, not persons, so no individual raters are reported."),
        "NoPooling": gettext("There is only one category, so its weights cannot be pooled with those of others."),
        "NeverSwapped": gettext("No pair was shown to the same rater in both orders."),
        "NeverReviewed": gettext(
            "Nobody has reviewed a verdict yet. Create a study that reviews this judge's verdicts."
        ),
        "NoFamily": gettext("The model family of this judge is unknown. Enter a family for its model in the library."),
        "NoJudge": gettext("No judge has given a verdict on this in the study."),
    }
    return said.get(why) or reason_words(why)
