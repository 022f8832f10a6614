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

NOT_IN_RUBRIC = Wording("answers.not_in_rubric", "the task's rubric has no criterion %(criterion)s")
USE_ONE_OF = Wording("answers.use_one_of", "use one of %(known)s")
TWO_ROWS = Wording("answers.two_rows", "%(criterion)s of this task has two rows")
REMOVE_ONE_ROW = Wording("answers.remove_one_row", "remove one of them")
NO_ANSWER_TO = Wording("answers.no_answer_to", "%(written)s is not an answer to %(criterion)s")
NUMBER_OR_RANGE = Wording("answers.number_or_range", "enter a number or a range such as 6-8")
NUMBER_OR_LEVEL = Wording("answers.number_or_level", "enter a number, a range such as 6-8, or one of %(levels)s")
NO_TASK_OF = Wording("answers.no_task_of", "study %(study)s has no task of instruction %(name)s")
CHECK_TASKS = Wording("answers.check_tasks", "check the name, and that the study's tasks have been created")
NOT_BY = Wording("answers.not_by", "no task of instruction %(name)s is by %(models)s")
USE = Wording("answers.use", "use %(models)s")
SEVERAL_TASKS = Wording("answers.several_tasks", "%(n)s tasks of instruction %(name)s match")
NAME_MODELS = Wording("answers.name_models", "name the models in the columns model and model_b")
CORRECT_ROW = Wording("answers.correct_row", "correct the row or remove it")
NO_INSTRUCTION_IN = Wording("answers.no_instruction_in", "benchmark %(benchmark)s has no instruction %(name)s")
LOAD_INSTRUCTIONS = Wording("answers.load_instructions", "load its instructions first")
EMPTY_QUESTION = Wording("answers.empty_question", "the question is empty")
ENTER_QUESTION = Wording("answers.enter_question", "enter a question that can be answered by yes or no")
NAMELESS_PARTS = Wording("answers.nameless_parts", "the parts have no name")
ENTER_MARK = Wording("answers.enter_mark", "enter their name in the column mark, such as Week")
NO_KIND = Wording("answers.no_kind", "%(kind)s is not a kind of check")
USE_KIND = Wording("answers.use_kind", "use one of %(kinds)s, or leave it empty")
NO_PARTS = Wording("answers.no_parts", "%(asked)s is not a number of parts")
ENTER_PARTS = Wording("answers.enter_parts", "enter the number of parts requested, or leave it empty")
NO_PART_NUMBER = Wording("answers.no_part_number", "%(part)s is not a part number")
PART_NUMBERS = Wording("answers.part_numbers", "enter numbers such as 19, 23-25 or 13-52/5")
CREATE_RUBRIC = Wording("answers.create_rubric", "create it first, or load the library with load_library")
NO_RUBRIC = Wording("answers.no_rubric", "there is no rubric %(rubric)s")
NO_STRENGTH = Wording(
    "answers.no_strength", "the strength %(strength)s is neither %(slightly)s (slightly) nor %(much)s (much)"
)
CORRECT_OR_UNSCORED = Wording("answers.correct_or_unscored", "correct it, or say --off-scale unscored")
LONG_RATER = Wording("answers.long_rater", "the rater's name is too long")
TWO_KINDS = Wording("answers.two_kinds", "%(label)s is called %(stated)s here and %(former)s before")
ONE_KIND = Wording("answers.one_kind", "give a rater one kind, or tell raters of two kinds apart by their names")
RATERS_KIND = Wording("answers.raters_kind", "the rater's kind is %(kind)s")
SAY_ONE_OF = Wording("answers.say_one_of", "say one of %(known)s")
NO_RUBRIC_HAS = Wording("answers.no_rubric_has", "no rubric for this item has a criterion %(criterion)s")
THERE_ARE = Wording("answers.there_are", "there are %(known)s")
OF_RUBRIC = Wording("answers.of_rubric", "%(known)s of rubric %(rubric)s")
NO_ITEM = Wording("answers.no_item", "rubric %(rubric)s has no item %(position)s")
ITEMS_FROM_0 = Wording("answers.items_from_0", "its %(n)s items count from 0")
ANSWERED_BEFORE = Wording("answers.answered_before", "%(who)s has already answered %(was)s here")
SOMETHING_ELSE = Wording("answers.something_else", "something else")
NO_VALUES = Wording("answers.no_values", "No row of %(file)s has a value; check which column holds it.")
NO_OVERALL = Wording(
    "answers.no_overall", "%(file)s has no criterion %(criterion)s to be the overall score; its criteria are %(known)s."
)
ITEM_NOT_OVERALL = Wording(
    "answers.item_not_overall",
    "%(criterion)s is an item in this study, not its overall score; load the table into a new study.",
)
NONE_FOR_OPTION = Wording(
    "answers.none_for_option", "%(file)s has no criterion %(criterion)s for --%(option)s; its criteria are %(known)s."
)
WIDE_SCALE = Wording(
    "answers.wide_scale",
    "The scale of %(criterion)s is %(low)s to %(high)s, but its values are %(least)s to %(most)s; if the scale is "
    "narrower, load the table again with --scale.",
)
OWN_STUDY = Wording("answers.own_study", "load it into a study of its own")
NO_ANSWERS = Wording("answers.no_answers", "study %(study)s has no answers to this item")
LOAD_RATINGS = Wording("answers.load_ratings", "load its ratings first")
OTHER_TRUTH = Wording("answers.other_truth", "an earlier row gives another correct answer to the same question")
STUDY_NAME = Wording("answers.study_name", "The study name %(study)s must be letters, digits, - and _, 100 at most.")
LONG_TITLE = Wording("answers.long_title", "The study's title is too long; keep it to %(most)s characters.")
LONG_EXPERIMENT = Wording("answers.long_experiment", "--experiment is too long; keep it to %(most)s characters.")
NO_STUDY_YET = Wording(
    "answers.no_study_yet", "There is no study %(study)s yet; load its ratings before their correct answers."
)
OTHER_KIND = Wording("answers.other_kind", "Study %(study)s is of kind %(kind)s, these are %(these)s; name another.")
OTHER_BENCHMARK = Wording(
    "answers.other_benchmark", "Study %(study)s belongs to benchmark %(benchmark)s; name that one."
)
BENCHMARK_IS_THERE = Wording(
    "answers.benchmark_is_there",
    "There is a benchmark %(study)s already; say --benchmark %(slug)s if these are its items, or give the study another "
    "name.",
)
NO_BENCHMARK = Wording(
    "answers.no_benchmark",
    "There is no benchmark %(benchmark)s; load it first with load_library or load_benchmark, or leave --benchmark out "
    "(there are: %(known)s).",
)
UNUSABLE_BEFORE = Wording(
    "answers.unusable_before", "%(who)s's verdict on %(name)s was unusable when it was loaded before"
)
DELETE_STUDY = Wording("answers.delete_study", "delete study %(study)s to load it anew")
UNPACKS_TOO_FAR = Wording("answers.unpacks_too_far", "the file unpacks to more than it may")
UNPACK_AND_SPLIT = Wording("answers.unpack_and_split", "unpack it yourself and split it")
NOT_THIS_WAY = Wording("answers.not_this_way", "the file cannot be read in this way")
OTHER_WAY = Wording("answers.other_way", "choose another way to read it")
