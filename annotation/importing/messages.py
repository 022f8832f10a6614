"""Why rows of tables of answers cannot be loaded, and what to do about it. PURE."""

from core.messages.message import Wording

NO_CRITERION = Wording("answers.no_criterion", "rubric %(rubric)s has no criterion %(criterion)s")
ITS_CRITERIA = Wording("answers.its_criteria", "its criteria are %(known)s")
OFF_SCALE = Wording("answers.off_scale", "%(value)s is off the scale of %(criterion)s, %(scale)s")
CORRECT_VALUE = Wording("answers.correct_value", "correct it, or say --off-scale keep or --off-scale unscored")
NO_CHOICE = Wording("answers.no_choice", "the choice %(choice)s is none of %(known)s")
CHOICE_MEANS = Wording("answers.choice_means", "say what it means with --map %(choice)s=A, or say --off-scale unscored")
NOTHING_LOADED = Wording("answers.nothing_loaded", "No row can be loaded. The first problem: %(problem)s")
TWO_ANSWERS = Wording("answers.two_answers", "%(who)s has two answers to the same question")
REMOVE_ONE = Wording("answers.remove_one", "remove one of the rows or use --duplicates repeat or drop")
