"""The kinds of tables that a lead can upload, and what their columns can hold."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

NEEDS_STUDY = ("truth", "gold", "raters")
"""Kinds whose rows belong to what a study has already."""
NEEDS_BENCHMARK = ("checks", "checklists")
"""Kinds whose rows belong to what a benchmark has already."""
OF_INSTRUCTIONS = ("responses", *NEEDS_BENCHMARK)
"""Kinds whose rows name instructions that a benchmark may have already."""
OF_PEOPLE = ("name", "email")
"""What a column can hold that says who somebody is; its values are shown masked."""
CRITERION = "criterion_column"
"""What a column of ratings holds that is itself a criterion, with an answer in each row."""


@dataclass(frozen=True)
class TableField:
    """What a column can hold; `names` are the names, without marks and in small letters, by which it is recognised."""

    name: str
    label: str | Promise
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableKind:
    """A kind of table. Each of `needed` must have a column; `into` is what its rows are loaded into."""

    key: str
    label: str | Promise
    into: str
    fields: tuple[TableField, ...]
    needed: tuple[str, ...]

    def field(self, name: str) -> TableField | None:
        return next((field for field in self.fields if field.name == name), None)


_INSTRUCTION = TableField(
    "instruction", _("Name of the instruction"), ("instructionid", "promptid", "questionid", "taskid", "id")
)
_ITEM = TableField(
    "item", _("Name of the item"), ("itemid", "responseid", "textid", "id", "instructionid", "questionid")
)
_CATEGORY = TableField("category", _("Category"), ("topic", "subject", "domain"))
_MODEL = TableField("model", _("Model"), ("system", "modelname", "generator", "writer"))
_PROMPT = TableField("prompt", _("Text of the instruction"), ("question", "instructiontext", "input", "query"))
_RATER = TableField(
    "rater", _("Rater"), ("annotator", "raterid", "annotatorid", "worker", "workerid", "user", "participant")
)
_CRITERION = TableField("criterion", _("Criterion"), ("dimension", "aspect", "metric", "quality"))
_VALUE = TableField("value", _("Answer"), ("score", "rating", "stars", "grade", "mark", "label", "answer"))
_SECONDS = TableField("seconds", _("Seconds"), ("time", "duration", "elapsed"))
_REASON = TableField("reason", _("Reason"), ("comment", "explanation", "rationale", "justification"))
_RATER_KIND = TableField("rater_kind", _("Kind of rater: onsite, crowd or public"), ("raterkind", "ratertype"))
_OF_ITEM = TableField("instruction", _("Instruction of the item"), ("prompt", "promptid"))

KINDS = {
    kind.key: kind
    for kind in (
        TableKind(
            "instructions",
            _("Instructions"),
            "benchmark",
            (
                _INSTRUCTION,
                _PROMPT,
                TableField("messages", _("Conversation as JSON"), ("conversation", "chat", "turns")),
                TableField("task", _("Task"), ()),
                TableField("data", _("Data of the task"), ()),
                TableField("requirements", _("Requirements of the task"), ("constraints",)),
                _CATEGORY,
                TableField("parent", _("Category above"), ("parentcategory",)),
                TableField("words_asked", _("Words asked for"), ("wordsasked", "wordcount")),
                TableField("language", _("Language"), ("lang",)),
                TableField("reference", _("Reference answer"), ("referenceanswer", "gold", "target")),
                TableField("hint", _("Hint for raters"), ()),
                TableField("tags", _("Tags"), ("tag",)),
                TableField("checklist", _("Checklist of its own"), ("checks", "questions")),
                TableField("rubric", _("Key of its rubric"), ()),
            ),
            ("instruction",),
        ),
        TableKind(
            "responses",
            _("Responses"),
            "benchmark",
            (
                _INSTRUCTION,
                TableField(
                    "response", _("Response"), ("output", "completion", "generation", "answer", "text", "reply")
                ),
                _MODEL,
                _PROMPT,
                _CATEGORY,
                TableField("sample", _("Number of the sample"), ("sampleid",)),
                TableField("finish_reason", _("Why it ended"), ("finishreason",)),
                TableField("tokens", _("Tokens"), ("outputtokens",)),
                _SECONDS,
            ),
            ("instruction", "response"),
        ),
        TableKind(
            "ratings",
            _("Ratings"),
            "study",
            (_ITEM, _RATER, _VALUE, _CRITERION, _MODEL, _OF_ITEM, _CATEGORY, _REASON, _SECONDS, _RATER_KIND),
            ("item", "rater"),
        ),
        TableKind(
            "preferences",
            _("Preferences"),
            "study",
            (
                _ITEM,
                TableField("model_a", _("Model A"), ("modela", "model1", "systema", "a")),
                TableField("model_b", _("Model B"), ("modelb", "model2", "systemb", "b")),
                _RATER,
                TableField("choice", _("Choice"), ("preference", "winner", "preferred", "label", "answer", "vote")),
                TableField("first", _("Response shown first"), ("shownfirst",)),
                TableField("strength", _("Strength of the preference"), ()),
                _OF_ITEM,
                _CATEGORY,
                _SECONDS,
                _RATER_KIND,
            ),
            ("item", "model_a", "model_b", "rater", "choice"),
        ),
        TableKind(
            "truth",
            _("Correct answers"),
            "study",
            (
                _ITEM,
                TableField("value", _("Correct answer"), ("truth", "correct", "gold", "goldlabel", "answer", "label")),
                _CRITERION,
                _MODEL,
            ),
            ("item", "value"),
        ),
        TableKind(
            "gold",
            _("Known answers that check raters"),
            "study",
            (
                _INSTRUCTION,
                _MODEL,
                TableField("model_b", _("Model B"), ("modelb", "model2")),
                _CRITERION,
                TableField("value", _("Expected answer"), ("expected", "gold", "answer", "score")),
                TableField("purpose", _("Purpose: gold, training or qualification"), ()),
                TableField("why", _("Explanation for raters"), ("explanation", "reason")),
                TableField("why_zh", _("Explanation in Chinese"), ("whyzh",)),
            ),
            ("instruction", "criterion", "value"),
        ),
        TableKind(
            "checks",
            _("Checks of parts of a response"),
            "benchmark",
            (
                _INSTRUCTION,
                TableField("question", _("Question of the check"), ("check",)),
                TableField("question_zh", _("Question in Chinese"), ("questionzh",)),
                TableField("numbers", _("Numbers of the parts"), ("parts",)),
                TableField("mark", _("What a part is called"), ()),
                TableField("kind", _("Kind of check"), ("type",)),
                TableField("asked", _("Parts asked for"), ()),
            ),
            ("instruction", "question"),
        ),
        TableKind(
            "checklists",
            _("Checklists"),
            "benchmark",
            (
                _INSTRUCTION,
                _CATEGORY,
                TableField("question", _("Question"), ("item", "check", "criterion", "requirement")),
                TableField("question_zh", _("Question in Chinese"), ("questionzh",)),
            ),
            ("question",),
        ),
        TableKind(
            "rubrics",
            _("Rubrics"),
            "benchmark",
            (
                TableField("rubric", _("Name of the rubric"), ("rubrickey", "rubricid")),
                TableField("rubric_name", _("Title of the rubric"), ("rubricname", "title")),
                _CATEGORY,
                TableField("criterion", _("Key of the criterion"), ("criterionkey", "key", "dimension", "aspect")),
                TableField("question", _("Question"), ("criterionquestion", "name", "text", "description")),
                TableField("question_zh", _("Question in Chinese"), ("questionzh",)),
                TableField("role", _("Role: item, overall or preference"), ()),
                TableField("scale", _("Scale, or all levels"), ("levels", "range")),
                TableField("level_value", _("Value of a level"), ("levelvalue", "value", "points", "score")),
                TableField("level_name", _("Name of a level"), ("levelname", "level", "label")),
                TableField("level_name_zh", _("Name of a level in Chinese"), ("levelnamezh",)),
                TableField("level_meaning", _("Meaning of a level"), ("levelmeaning", "meaning", "descriptor")),
                TableField("level_meaning_zh", _("Meaning of a level in Chinese"), ("levelmeaningzh",)),
                TableField("may_not_apply", _("May not apply: yes or no"), ("maynotapply", "na")),
            ),
            (),
        ),
        TableKind(
            "raters",
            _("Raters: a list of people"),
            "study",
            (
                TableField(
                    "name", _("Name of the person"), ("fullname", "person", "rater", "annotator", "participant")
                ),
                TableField("email", _("E-mail address"), ("emailaddress", "mail", "address")),
                TableField("cohort", _("Cohort"), ("group", "team")),
                TableField(
                    "rater_kind", _("Kind of a new cohort: public or onsite"), ("raterkind", "cohortkind", "kind")
                ),
            ),
            (),
        ),
    )
}
