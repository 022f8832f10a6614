"""Why rows of uploaded tables cannot be loaded, and what to do about it. PURE."""

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

TWO_ROWS = Wording("answers.two_rows", "%(criterion)s of this task has two rows")
NO_ANSWER_TO = Wording("answers.no_answer_to", "%(written)s is not an answer to %(criterion)s")
CHECK_TASKS = Wording("answers.check_tasks", "check the name, and that the study's tasks have been created")
NAME_MODELS = Wording("answers.name_models", "name the models in the columns model and model_b")
LOAD_INSTRUCTIONS = Wording("answers.load_instructions", "load its instructions first")
ENTER_QUESTION = Wording("answers.enter_question", "enter a question that can be answered by yes or no")
ENTER_MARK = Wording("answers.enter_mark", "enter their name in the column mark, such as Week")
PART_NUMBERS = Wording("answers.part_numbers", "enter numbers such as 19, 23-25 or 13-52/5")
CREATE_RUBRIC = Wording("answers.create_rubric", "create it first, or load the library that comes with the program")
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
NO_ANSWERS_IN = Wording(
    "answers.no_answers_in", "%(file)s has no answer that is read; check that it is a file of %(format)s with answers."
)
FIELDS_NOT_READ = Wording("answers.fields_not_read", "Fields that were not read: %(fields)s.", between=", ")
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
NO_INSTRUCTION = Wording("tables.no_instruction", "benchmark %(benchmark)s has no instruction %(name)s")
NO_CATEGORY = Wording("tables.no_category", "benchmark %(benchmark)s has no category %(name)s")
ITS_CATEGORIES = Wording("tables.its_categories", "its categories are %(known)s")
NO_QUESTION = Wording("tables.no_question", "the question is empty")
YES_OR_NO = Wording("tables.yes_or_no", "enter a question that can be answered by yes or no")
LONG_QUESTION = Wording("tables.long_question", "the question is longer than %(most)s characters")
SHORTEN = Wording("tables.shorten", "shorten it")
QUESTION_TWICE = Wording("tables.question_twice", "%(name)s has this question in an earlier row too")
KEEP_ONE = Wording("tables.keep_one", "keep one of them")
NEITHER = Wording("tables.neither", "the row names neither an instruction nor a category")
NAME_ONE = Wording("tables.name_one", "fill in one of them")

BAD_PART = Wording("tables.bad_part", "%(text)s is not a part number")
NO_MARK = Wording("tables.no_mark", "the parts have no name")
BAD_CHECK_KIND = Wording("tables.bad_check_kind", "%(text)s is not a kind of check")
CHECK_KINDS = Wording("tables.check_kinds", "use one of %(known)s, or leave it empty")
BAD_ASKED = Wording("tables.bad_asked", "%(text)s is not a number of parts")
ENTER_ASKED = Wording("tables.enter_asked", "enter the number of parts requested, or leave it empty")

NO_KEY = Wording("tables.no_key", "the row names neither a criterion nor a question")
BAD_KEY = Wording(
    "tables.bad_key", "the key %(key)s has other characters than letters, digits, - and _, or more than %(n)s"
)
RENAME_KEY = Wording("tables.rename_key", "give it another key")
BAD_SCALE = Wording("tables.bad_scale", "the scale %(text)s cannot be read")
WRITE_SCALE = Wording("tables.write_scale", "write it as 1:5, or as 0=No|1=Partly|2=Yes, with 2 to 21 levels")
BAD_LEVEL = Wording("tables.bad_level", "the value of the level, %(text)s, is not a number")
ENTER_NUMBER = Wording("tables.enter_number", "enter a number")
LEVEL_TWICE = Wording("tables.level_twice", "%(name)s has the level %(value)s in an earlier row too")
LEVELS = Wording("tables.levels", "the number of levels of %(name)s is %(n)s")
GIVE_LEVELS = Wording("tables.give_levels", "give it 2 to 21, one in each row")
TWO_SCALES = Wording("tables.two_scales", "%(name)s has a scale and levels in rows of their own")
ONE_WAY = Wording("tables.one_way", "say in one way what its levels are")
BAD_ROLE = Wording("tables.bad_role", "the role %(text)s is none of %(known)s")
CORRECT_OR_EMPTY = Wording("tables.correct_or_empty", "correct it, or leave it empty")
OTHER_BEFORE = Wording("tables.other_before", "%(name)s has another question in an earlier row")
SAME_TEXT = Wording("tables.same_text", "write the same one, or leave it empty after the first row")
RUBRIC_ELSEWHERE = Wording("tables.rubric_elsewhere", "the rubric %(key)s belongs to another benchmark or study")
OTHER_RUBRIC = Wording("tables.other_rubric", "give the rubric of the table another name")

NOBODY = Wording("tables.nobody", "the row has neither a name nor an e-mail address")
ENTER_PERSON = Wording("tables.enter_person", "fill in one of them, or remove the row")
NO_ADDRESS = Wording("tables.no_address", "the e-mail address is not one")
CORRECT_IT = Wording("tables.correct_it", "correct it, or leave out the row")
LONG_NAME = Wording("tables.long_name", "the name is longer than %(n)s characters")
PERSON_TWICE = Wording("tables.person_twice", "this person is in an earlier row too")
REMOVE_A_ROW = Wording("tables.remove_a_row", "remove one of the rows")
RATER_KIND = Wording("tables.rater_kind", "the kind of rater, %(text)s, is none of %(known)s")
CROWD_COHORT = Wording("tables.crowd_cohort", "the raters of cohort %(name)s come from a crowd platform")
OTHER_COHORT = Wording("tables.other_cohort", "name another cohort")
CLOSED_COHORT = Wording("tables.closed_cohort", "the link of cohort %(name)s is closed")
OPEN_COHORT = Wording("tables.open_cohort", "give the cohort a new link, or name another cohort")

NO_TASK = Wording("tables.no_task", "study %(study)s has no task of instruction %(name)s")
NO_MODEL_TASK = Wording("tables.no_model_task", "no task of instruction %(name)s is by %(models)s")
USE_ONE = Wording("tables.use_one", "use one of %(known)s")
TWO_TASKS = Wording("tables.two_tasks", "%(n)s tasks of instruction %(name)s match")
NO_ANSWER = Wording("tables.no_answer", "%(text)s is not an answer to %(criterion)s")
ANSWERS = Wording("tables.answers", "enter a number or a range such as 6-8")
ANSWERS_OR_LEVELS = Wording("tables.answers_or_levels", "enter a number, a range such as 6-8, or one of %(levels)s")
