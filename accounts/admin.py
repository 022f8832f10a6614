from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.api.tokens import revoke_all_tokens
from accounts.models import ApiToken, Event, Invitation, Membership, User, Workspace
from accounts.sign_in.devices import forget_browsers
from accounts.sign_in.record import record

RESERVED = frozenset({"benchmarks", "instructions", "leaderboards", "library", "runs", "studies", "watches"})
"""Words by which the navigation recognises where an address belongs; no new workspace may have one as its slug."""


class MembershipInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Membership
    extra = 0
    autocomplete_fields = ["user"]


class OwnMembershipInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Membership
    extra = 0


class GivenPasswordForm(AdminPasswordChangeForm):  # type: ignore[type-arg]
    """A password that the administrator gives; it revokes the account's tokens and device cookies, and is an event."""

    def save(self, commit: bool = True) -> User:
        user: User = super().save(commit)
        revoke_all_tokens(user, clock=timezone.now)
        record(user, "password changed", after={"how": "administration"})
        forget_browsers(user)
        return user


@admin.register(User)
class PersonAdmin(UserAdmin):  # type: ignore[type-arg]
    """Users with their workspaces; Django's own form changes passwords."""

    change_password_form = GivenPasswordForm

    inlines = [OwnMembershipInline]
    list_display = ["username", "email", "first_name", "last_name", "is_staff", "last_login"]
    # Who owns the server is decided in a shell, by manage.py make_superuser.
    readonly_fields = ["public_id", "made_in", "password_given", "demonstration", "is_staff", "is_superuser"]
    fieldsets = [
        *(UserAdmin.fieldsets or ()),
        (
            _("Plumbline"),
            {"fields": ["public_id", "language", "preferences", "made_in", "password_given", "demonstration"]},
        ),
    ]


class WorkspaceForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug in RESERVED:
            raise forms.ValidationError(
                _("%(slug)s is a part of other addresses. Choose another slug."), params={"slug": slug}
            )
        return slug


@admin.register(Workspace)
class WorkspaceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A workspace keeps its slug, which stands in addresses that people were given and in sign-in names."""

    form = WorkspaceForm
    list_display = ["slug", "name", "created_at"]
    search_fields = ["slug", "name"]
    inlines = [MembershipInline]

    def get_readonly_fields(self, request: HttpRequest, obj: Workspace | None = None) -> list[str]:
        return ["slug"] if obj is not None else []


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["user", "workspace", "role"]
    list_filter = ["workspace", "role"]
    list_select_related = ["user", "workspace"]
    autocomplete_fields = ["user", "workspace"]


@admin.register(Event)
class EventAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The log, which is read-only here."""

    list_display = ["at", "actor", "verb", "object_type", "object_id", "workspace"]
    list_filter = ["verb", "workspace"]
    list_select_related = ["actor", "workspace"]
    search_fields = ["object_id", "verb"]
    date_hierarchy = "at"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Event | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Event | None = None) -> bool:
        return False


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """API tokens, which can be read and revoked here; their owners create them on the page API tokens."""

    list_display = ["name", "user", "workspace", "scopes", "expires_at", "used_at", "revoked_at"]
    list_select_related = ["user", "workspace"]
    search_fields = ["name", "user__username"]
    readonly_fields = ["public_id", "user", "name", "workspace", "scopes", "created_at", "expires_at", "used_at"]
    fields = [*readonly_fields, "revoked_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(Invitation)
class InvitationAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Read-only: invitations are created and withdrawn on the page Members."""

    list_display = ["workspace", "role", "note", "made_by", "made_at", "expires_at", "accepted_by", "withdrawn_at"]
    list_select_related = ["workspace", "made_by", "accepted_by"]
    list_filter = ["workspace", "role"]
    exclude = ["digest"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        return False
