"""Who gave a row to a checklist that came with an archive: a pseudonym in the place of the account.

The columns are empty in every row that is there, so neither database writes a row anew; they are watched like the rest.
"""

from django.db import migrations, models

from core.db.append_only import keep_more

RECORDS = {
    "annotation_proposedcriterion": ["checklist_id", "name", "explanation"],
    "annotation_ballotreceipt": ["checklist_id", "at"],
    "annotation_questionreview": ["question_id", "sound", "comment"],
}


class Migration(migrations.Migration):
    dependencies = [("annotation", "0035_task_of_a_rubric")]

    operations = [
        *(
            migrations.AddField(name, "pseudonym", models.UUIDField(blank=True, editable=False, null=True))
            for name in ("proposedcriterion", "ballotreceipt", "questionreview")
        ),
        # Only rows with a pseudonym: SQLite need not rebuild the table for it.
        migrations.AddConstraint(
            "ballotreceipt",
            models.UniqueConstraint(
                condition=models.Q(("pseudonym__isnull", False)),
                fields=("checklist", "pseudonym"),
                name="one_ballot_per_checklist_and_pseudonym",
            ),
        ),
        *(keep_more(table, columns, ["pseudonym"]) for table, columns in RECORDS.items()),
    ]
