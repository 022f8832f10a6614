"""What a workspace keeps of how its uploaded tables are read."""

from django.db import models

from accounts.models import User, Workspace


class SavedMapping(models.Model):
    """A mapping of a table's columns under a name, offered when a file with the same columns is uploaded.

    `file_columns` are the names of all columns of the file, sorted; `columns` says what those that are read hold.
    """

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="saved_mappings")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=20)
    file_columns = models.JSONField(default=list)
    columns = models.JSONField(default=dict)
    options = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="one_saved_mapping_per_name")]

    def __str__(self) -> str:
        return self.name
