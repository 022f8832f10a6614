"""What a paper says of how a study was done, with the study's own numbers, and what its numbers cannot say."""

from dataclasses import dataclass

from django.db.models import Count, Max, Min, Q
from django.utils.translation import gettext, ngettext

from annotation.models import Assignment, CheckOutcome, Criterion, Exclusion, Rater, Study
from annotation.policies.policies import CONTROL, GOLD
from annotation.studies.provenance import provenance_of
from calibration.data.verdicts import judges_by_verdicts, judges_without_verdict
from calibration.statistics.judges.estimates import LEAST_RATERS
from calibration.statistics.resampling import MIN_CLUSTERS
from core.messages.counts import counted
from judging.models import Judge


@dataclass(frozen=True)
class StudyNumbers:
    """The numbers of a study. `once` are tasks that one person alone answered; `answers` count, `excluded` do not."""

    instructions: int
    responses: int
    models: int
    tasks: int
    criteria: int
    raters: int
    kinds: dict[str, int]
    answers: int
    once: int
    repeated: int
    excluded: int
    checks: int
    passed: int
    first: str
    last: str


def facts_of(study: Study) -> StudyNumbers:
    tasks = study.tasks.filter(gold__isnull=True)
    sides = {
        *tasks.values_list("response_a", "response_a__model"),
        *tasks.filter(response_b__isnull=False).values_list("response_b", "response_b__model"),
    }
    people = Q(rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT])
    given = Assignment.objects.filter(people, task__study=study, task__gold__isnull=True)
    counted = given.filter(status=Assignment.Status.SUBMITTED)
    times = counted.aggregate(first=Min("submitted_at"), last=Max("submitted_at"))
    by_task = counted.filter(repeat=0).order_by().values("task").annotate(n=Count("rater", distinct=True))
    checks = CheckOutcome.objects.filter(assignment__task__study=study, purpose__in=[GOLD, CONTROL])
    raters = Rater.objects.filter(pk__in=counted.values("rater"))
    criteria = Criterion.objects.filter(rubric__in=tasks.values("answer_rubric"))
    kinds: dict[str, int] = {}
    for kind in raters.values_list("cohort__kind", flat=True):
        kinds[kind or ""] = kinds.get(kind or "", 0) + 1
    return StudyNumbers(
        instructions=tasks.values("response_a__instruction").distinct().count(),
        responses=len({response for response, _model in sides}),
        models=len({model for _response, model in sides}),
        tasks=tasks.count(),
        criteria=criteria.values("key").distinct().count(),
        raters=raters.count(),
        kinds=kinds,
        answers=counted.filter(repeat=0).count(),
        once=sum(row["n"] == 1 for row in by_task),
        repeated=counted.filter(repeat__gt=0).count(),
        excluded=given.filter(status=Assignment.Status.EXCLUDED).count(),
        checks=checks.count(),
        passed=checks.filter(passed=True).count(),
        first=times["first"].date().isoformat() if times["first"] else "",
        last=times["last"].date().isoformat() if times["last"] else "",
    )


def methods_paragraph(study: Study, facts: StudyNumbers) -> list[str]:
    """Return the sentences of the paragraph on methods."""
    said = [
        gettext(
            "The study “%(study)s” has %(tasks)s; what is rated was written by %(models)s for %(instructions)s "
            "(%(responses)s), %(kind)s."
        )
        % {
            "study": study.name or study.slug,
            "tasks": counted(facts.tasks, "tasks"),
            "models": counted(facts.models, "models"),
            "instructions": counted(facts.instructions, "instructions"),
            "responses": counted(facts.responses, "responses"),
            "kind": _kind(study, facts),
        }
    ]
    if facts.answers:
        said.append(
            ngettext(
                "%(raters)s rater gave %(answers)s answers that count%(dates)s.",
                "%(raters)s raters gave %(answers)s answers that count%(dates)s.",
                facts.raters,
            )
            % {
                "raters": f"{facts.raters:,}",
                "answers": f"{facts.answers:,}",
                "dates": gettext(", between %(first)s and %(last)s") % {"first": facts.first, "last": facts.last}
                if facts.first
                else "",
            }
        )
        said += _groups(facts)
    if facts.repeated:
        said.append(
            ngettext(
                "%(n)s more answer was given to a repeated task, to measure how consistent a rater is.",
                "%(n)s more answers were given to repeated tasks, to measure how consistent a rater is.",
                facts.repeated,
            )
            % {"n": f"{facts.repeated:,}"}
        )
    if facts.checks:
        said.append(
            gettext("Of %(n)s to gold items and attention checks, %(passed)s passed.")
            % {"n": counted(facts.checks, "answers"), "passed": f"{facts.passed:,}"}
        )
    if facts.excluded:
        said.append(
            ngettext(
                "%(n)s answer was excluded by a lead and counts nowhere.",
                "%(n)s answers were excluded by a lead and count nowhere.",
                facts.excluded,
            )
            % {"n": f"{facts.excluded:,}"}
        )
    return [*said, *_judges(study)]


def _kind(study: Study, facts: StudyNumbers) -> str:
    if study.kind == Study.Kind.PAIR:
        return gettext("compared in pairs")
    return ngettext("each rated on %(n)s criterion", "each rated on %(n)s criteria", facts.criteria) % {
        "n": facts.criteria
    }


def _groups(facts: StudyNumbers) -> list[str]:
    names = {
        "onsite": gettext("on site"),
        "crowd": gettext("from a crowd platform"),
        "public": gettext("by a public link"),
        "": gettext("as members of the workspace or from an imported table"),
    }
    known = [(names[kind], n) for kind, n in sorted(facts.kinds.items()) if kind in names]
    if len(known) < len(facts.kinds) or not known:
        return []
    listed = gettext(", ").join(gettext("%(n)s %(where)s") % {"n": f"{n:,}", "where": name} for name, n in known)
    return [gettext("Where the raters came from: %(listed)s.") % {"listed": listed}]


def _judges(study: Study) -> list[str]:
    said = []
    known = judges_by_verdicts(study, elsewhere=False)
    made = {
        judge.rater_id: judge
        for judge in Judge.objects.filter(rater__in=[row.judge.pk for row in known]).select_related("language_model")
    }
    for row in known:
        judge = made.get(row.judge.pk)
        words = {"judge": row.judge.name, "n": counted(row.verdicts, "verdicts")}
        if judge is None or judge.language_model is None:
            said.append(gettext("The judge %(judge)s gave %(n)s, imported from elsewhere.") % words)
            continue
        words |= {"model": judge.language_model.name, "method": judge.method, "prompt": judge.prompt_hash[:12]}
        said.append(
            gettext("The judge %(judge)s (model %(model)s, method %(method)s, prompt %(prompt)s) gave %(n)s.") % words
        )
    return said


def limitations(study: Study, facts: StudyNumbers) -> list[str]:
    """Return the sentences on what the numbers cannot say."""
    said = []
    provenance = provenance_of(study)
    if "simulated" in provenance:
        said.append(gettext("The ratings are simulated: they say nothing about people."))
    if "scripted" in provenance:
        said.append(gettext("A judge is scripted: its verdicts say nothing about a language model."))
    if facts.instructions < MIN_CLUSTERS:
        said.append(
            gettext(
                "The study has %(n)s, and a 95 %% interval needs at least %(needed)s; ranges over leaving one out stand in "
                "their place and are no confidence intervals."
            )
            % {"n": counted(facts.instructions, "instructions"), "needed": MIN_CLUSTERS}
        )
    if 0 < facts.raters < LEAST_RATERS:
        said.append(
            gettext(
                "The study has %(n)s, and intervals for raters like these need at least %(needed)s; all intervals are for "
                "exactly these raters."
            )
            % {"n": counted(facts.raters, "raters"), "needed": LEAST_RATERS}
        )
    if facts.once:
        said.append(
            ngettext(
                "%(n)s task was answered by one person alone, so that nothing is known of agreement on it.",
                "%(n)s tasks were answered by one person alone, so that nothing is known of agreement on them.",
                facts.once,
            )
            % {"n": f"{facts.once:,}"}
        )
    exclusions = Exclusion.objects.standing().filter(study=study).count()
    if exclusions:
        said.append(gettext("Answers were excluded after they had been given; results without exclusions may differ."))
    unusable = sum(n for _judge, n in judges_without_verdict(study, []))
    if unusable:
        said.append(
            ngettext(
                "%(n)s reply of a judge could not be used and is left out.",
                "%(n)s replies of judges could not be used and are left out.",
                unusable,
            )
            % {"n": f"{unusable:,}"}
        )
    if study.status != Study.Status.CLOSED:
        said.append(gettext("The study was not closed when these tables were written, so that its numbers may change."))
    said.append(gettext("The models are taken as given: no interval takes them as drawn from more models."))
    return said
