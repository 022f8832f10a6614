from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiToken, Event, Invitation, Membership, User, Workspace


class MembershipInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Membership
    extra = 0
    autocomplete_fields = ["user"]


class OwnMembershipInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Membership
    extra = 0


@admin.register(User)
class PersonAdmin(UserAdmin):  # type: ignore[type-arg]
    """Users with their workspaces; Django's own form changes passwords."""

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


@admin.register(Workspace)
class WorkspaceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["slug", "name", "created_at"]
    search_fields = ["slug", "name"]
    inlines = [MembershipInline]


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
    """API tokens, which can be read and revoked here; their owners create them on their account page."""

    list_display = ["name", "user", "may_change", "created_at", "used_at", "revoked_at"]
    list_select_related = ["user"]
    search_fields = ["name", "user__username"]
    fields = ["public_id", "user", "name", "may_change", "created_at", "used_at", "revoked_at"]
    readonly_fields = ["public_id", "user", "name", "may_change", "created_at", "used_at"]

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
