"""Admin pages of the annotation tables. They show answers and never change them."""

from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _, gettext_lazy

from accounts.admin import PersonAdmin
from accounts.models import User
from annotation.assignment.new_slots import make_seats
from annotation.models import (
    Assignment,
    BrowserRequest,
    Checklist,
    CheckOutcome,
    Cohort,
    Criterion,
    DeskTally,
    DoorKnock,
    Draft,
    Flag,
    Guideline,
    LateChange,
    Participant,
    ProposedCriterion,
    QuestionDraft,
    QuestionReview,
    Rater,
    RaterIdentity,
    RefusedAddress,
    Rubric,
    Score,
    Seat,
    Standing,
    Study,
    Task,
    TimeCorrection,
)
from annotation.policies.policies import BadPolicy
from annotation.privacy.erasure import erase_account, only_owner_of
from annotation.recruitment.cohorts import erase_identity
from core.messages.rendering import for_reader


class RecordAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows that are a record: read-only here, created and changed only by the program."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class CriterionInline(admin.StackedInline):  # type: ignore[type-arg]
    model = Criterion
    extra = 0
    fields = (
        "key",
        "position",
        "role",
        "questions",
        "levels",
        ("minimum", "maximum", "step"),
        "anchors",
        "may_not_apply",
        "subtasks",
    )


admin.site.unregister(User)


@admin.register(User)
class ErasablePersonAdmin(PersonAdmin):
    """Users as accounts shows them; deleting one erases the person and keeps their answers without a name."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        deleted, counts, needed, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, needed, [*protected, *(slug for user in objs for slug in only_owner_of(user))]

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        erase_account(obj, by=cast(User, request.user))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            erase_account(user, by=cast(User, request.user))


@admin.register(Rubric)
class RubricAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("key", "version", "workspace", "benchmark", "category", "study")
    list_filter = ("workspace", "benchmark")
    list_select_related = ("workspace", "benchmark", "category__parent", "study")
    search_fields = ("key",)
    raw_id_fields = ("benchmark", "category", "instruction", "study")
    inlines = (CriterionInline,)


@admin.register(Criterion)
class CriterionAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("key", "rubric", "role", "position", "question", "may_not_apply")
    list_filter = ("role", "rubric__workspace")
    list_select_related = ("rubric",)
    search_fields = ("key", "rubric__key")
    raw_id_fields = ("rubric",)


@admin.register(Guideline)
class GuidelineAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("key", "version", "workspace", "created_at")
    list_filter = ("workspace",)
    search_fields = ("key",)


@admin.action(description="Create the assignment slots that the tasks lack")
def add_seats(model_admin: "StudyAdmin", request: HttpRequest, studies: QuerySet[Study]) -> None:
    for study in studies:
        try:
            made = make_seats(study)
        except BadPolicy as problem:
            model_admin.message_user(request, for_reader(problem), messages.ERROR)
        else:
            model_admin.message_user(
                request, _("%(study)s: created %(n)d assignment slots.") % {"study": study.slug, "n": made}
            )


@admin.register(Study)
class StudyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("slug", "workspace", "kind", "status", "benchmark", "created_at")
    list_filter = ("workspace", "kind", "status")
    list_editable = ("status",)
    list_select_related = ("workspace", "benchmark")
    search_fields = ("slug",)
    raw_id_fields = ("benchmark", "rubric", "guideline", "created_by")
    readonly_fields = ("public_id", "created_at")
    actions = (add_seats,)


@admin.register(Cohort)
class CohortAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "study", "kind", "expires_at", "revoked_at")
    list_filter = ("kind",)
    list_select_related = ("study",)
    raw_id_fields = ("study",)


@admin.register(Rater)
class RaterAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("label", "pseudonym", "kind", "study", "cohort", "provenance", "created_at")
    list_filter = ("kind", "provenance", "workspace")
    list_select_related = ("study", "cohort__study")
    search_fields = ("label", "pseudonym", "public_id")
    raw_id_fields = ("study", "cohort", "user")
    readonly_fields = ("public_id", "created_at")


@admin.register(Task)
class TaskAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("public_id", "study", "kind", "key", "position")
    list_filter = ("kind",)
    list_select_related = ("study",)
    search_fields = ("public_id", "key")
    raw_id_fields = ("study", "response_a", "response_b", "reviews", "answer_rubric", "guide_rubric")
    readonly_fields = ("public_id",)
    show_full_result_count = False


@admin.register(Seat)
class SeatAdmin(RecordAdmin):
    list_display = ("task", "place", "study", "state", "holder", "leased_until")
    list_filter = ("state",)
    list_select_related = ("task", "study", "holder")
    show_full_result_count = False


class ScoreInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Score
    extra = 0
    fields = readonly_fields = ("criterion", "revision", "value", "level", "not_applicable", "reason", "created_at")
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Score]:
        return super().get_queryset(request).select_related("criterion")


@admin.register(Assignment)
class AssignmentAdmin(RecordAdmin):
    list_display = ("public_id", "task", "rater", "repeat", "status", "submitted_at", "active_seconds")
    list_filter = ("status", "rater__kind")
    list_select_related = ("task", "rater")
    search_fields = ("public_id",)
    inlines = (ScoreInline,)
    show_full_result_count = False


@admin.register(Score)
class ScoreAdmin(RecordAdmin):
    list_display = ("assignment", "criterion", "revision", "value", "not_applicable", "created_at")
    list_select_related = ("assignment", "criterion")
    search_fields = ("assignment__public_id",)
    show_full_result_count = False


@admin.register(Draft)
class DraftAdmin(RecordAdmin):
    list_display = ("task", "rater", "serial", "saved_at")
    list_select_related = ("task", "rater")


@admin.register(Flag)
class FlagAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("created_at", "kind", "task", "rater", "text", "resolved_at")
    list_filter = ("kind", ("resolved_at", admin.EmptyFieldListFilter))
    list_select_related = ("task", "rater")
    raw_id_fields = ("task", "rater")


@admin.register(RaterIdentity)
class RaterIdentityAdmin(RecordAdmin):
    """Identities of raters, stored apart from their answers. Deleting a row erases the person's identity."""

    list_display = ("rater_name", "platform", "name", "cohort", "created_at")
    list_filter = ("cohort__kind",)
    list_select_related = ("rater", "cohort__study")
    search_fields = ("key", "name", "rater__pseudonym")
    fields = ("rater_name", "cohort", "key", "name", "particulars", "created_at")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("annotation.delete_rateridentity"))

    def delete_model(self, request: HttpRequest, obj: RaterIdentity) -> None:
        erase_identity(obj.rater, by=cast(User, request.user))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[RaterIdentity]) -> None:
        for identity in queryset.select_related("rater"):
            erase_identity(identity.rater, by=cast(User, request.user))

    @admin.display(description=gettext_lazy("Rater"), ordering="rater__pseudonym")
    def rater_name(self, identity: RaterIdentity) -> str:
        return identity.rater.name

    @admin.display(description=gettext_lazy("Platform"))
    def platform(self, identity: RaterIdentity) -> str:
        return identity.key.partition(":")[0]


@admin.register(Participant)
class ParticipantAdmin(RecordAdmin):
    """Crowd participants. Their ids and secrets are keyed hashes and are not shown."""

    list_display = ("rater", "study", "began_at")
    list_select_related = ("rater", "study")
    fields = ("rater", "study", "began_at")


@admin.register(BrowserRequest)
class BrowserRequestAdmin(RecordAdmin):
    """Read-only here; requests are answered on the study's cohorts page, which logs the answer."""

    list_display = ("participant", "number", "state", "at")
    list_filter = ("state",)
    list_select_related = ("participant",)
    fields = ("participant", "number", "state", "at")


@admin.register(Standing)
class StandingAdmin(RecordAdmin):
    """Read-only here; raters are paused and resumed on the study's cohorts page, which logs the change."""

    list_display = ("rater", "state", "cause", "consented_at", "trained_at", "qualified_at", "changed_at")
    list_filter = ("state", "cause")
    list_select_related = ("rater",)
    search_fields = ("rater__pseudonym", "rater__label")


@admin.register(CheckOutcome)
class CheckOutcomeAdmin(RecordAdmin):
    list_display = ("assignment", "purpose", "passed", "missed", "at")
    list_filter = ("purpose", "passed")
    list_select_related = ("assignment",)
    search_fields = ("assignment__public_id",)
    show_full_result_count = False


@admin.register(TimeCorrection)
class TimeCorrectionAdmin(RecordAdmin):
    list_display = ("assignment", "seconds", "claimed", "reason", "created_at")
    list_select_related = ("assignment",)
    search_fields = ("assignment__public_id",)


@admin.register(LateChange)
class LateChangeAdmin(RecordAdmin):
    """Changes from a stopped rater or after the study closed; they are not counted."""

    list_display = ("assignment", "cause", "created_at")
    list_filter = ("cause",)
    list_select_related = ("assignment",)
    search_fields = ("assignment__public_id",)


@admin.register(DoorKnock)
class DoorKnockAdmin(RecordAdmin):
    """Hashes of visitors by day; they are deleted after two days."""

    list_display = ("cohort", "at")
    list_select_related = ("cohort__study",)
    fields = ("cohort", "at")


@admin.register(RefusedAddress)
class RefusedAddressAdmin(RecordAdmin):
    """Addresses that a cohort's limit refused; they are deleted after two days."""

    list_display = ("cohort", "address", "refused", "last_at")
    list_select_related = ("cohort__study",)


@admin.register(DeskTally)
class DeskTallyAdmin(RecordAdmin):
    list_display = ("study", "counted_at", "asked_at")
    list_select_related = ("study",)


@admin.register(Checklist)
class ChecklistAdmin(RecordAdmin):
    """Changed only on its own page. Ballots have no page here, because nobody reads them before they are counted."""

    list_display = ("public_id", "name", "workspace", "stage", "created_at")
    list_filter = ("stage",)
    list_select_related = ("workspace",)


@admin.register(ProposedCriterion)
class ProposedCriterionAdmin(RecordAdmin):
    list_display = ("name", "checklist", "merged", "at", "withdrawn_at")
    list_select_related = ("checklist", "merged")


@admin.register(QuestionDraft)
class QuestionDraftAdmin(RecordAdmin):
    list_display = ("criterion", "source", "model", "at")
    list_select_related = ("criterion",)


@admin.register(QuestionReview)
class QuestionReviewAdmin(RecordAdmin):
    list_display = ("question", "sound", "comment", "at")
    list_select_related = ("question",)
