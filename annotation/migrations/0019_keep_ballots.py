"""Proposals, ballots, questions and reviews are a record: the database refuses to change or delete them."""

from django.db import migrations

from core.db.append_only import forbid_update, keep

RECORDS = {
    "annotation_proposedcriterion": ["checklist_id", "name", "explanation"],
    "annotation_ballot": ["checklist_id", "choices"],
    "annotation_ballotreceipt": ["checklist_id", "at"],
    "annotation_questiondraft": ["criterion_id", "texts", "source", "model"],
    "annotation_questionreview": ["question_id", "sound", "comment"],
}


class Migration(migrations.Migration):
    dependencies = [("annotation", "0018_checklists")]

    operations = [step(table, columns) for table, columns in RECORDS.items() for step in (forbid_update, keep)]
