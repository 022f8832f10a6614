"""The triggers that keep StudyCounter and StudyChange, so that no code that writes answers can forget to count.

Those of `work_triggers.py`, which count by rater and by instruction, are made and removed with them.

They are not part of a migration: SQLite cannot rebuild a table that the trigger of another one names, and drops those of
the table itself. They are removed before migrations and made again after them; in between, which the row IN_USE of
StudyCounter tells, studies are counted from their rows.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from django.apps import AppConfig
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate, pre_migrate

from annotation.counters import work_triggers

PREFIX = "counted_"
COUNTERS, CHANGES = "annotation_studycounter", "annotation_studychange"
FILING, IN_USE = 0, -1
"""Rows of no study: in `changes`, how often categories changed; and the row that exists while the triggers count."""
COLUMNS = ("changes", "answers", "scores", "judged", "tasks")
ASSIGNMENT, SCORE, TASK = "annotation_assignment", "annotation_score", "annotation_task"
WATCHED = ("status", "discredited")
"""Columns of an assignment on which results rest."""
FILED = {"generation_instruction": ("category_id",), "generation_category": ("key", "names", "parent_id")}


def connect() -> None:
    """Remove the triggers before migrations, and make them again after all of them."""
    pre_migrate.connect(_before, dispatch_uid="annotation.counters")
    post_migrate.connect(_after, dispatch_uid="annotation.counters")


def _before(sender: AppConfig, using: str, plan: list[Any], **_more: Any) -> None:
    if sender.name == "annotation" and plan:
        remove(connections[using])


def _after(sender: AppConfig, using: str, **_more: Any) -> None:
    if sender.name == "annotation":
        install(connections[using])


def remove(connection: BaseDatabaseWrapper) -> None:
    """Stop counting; studies are counted from their rows until `install`."""
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        if COUNTERS in connection.introspection.table_names(cursor):
            cursor.execute(f"DELETE FROM {COUNTERS} WHERE study = {IN_USE}")  # nosec B608 # names of our own
    on = " ON {}" if _is_postgresql(connection) else ""
    _carry_out(connection, [f"DROP TRIGGER {name}{on.format(table)}" for name, table in _existing(connection)])


def install(connection: BaseDatabaseWrapper) -> None:
    """Count from now on, and take over what there is; nothing to do where it is counted already."""
    with connection.cursor() as cursor:
        known = set(connection.introspection.table_names(cursor))
        counted = {work_triggers.RATERS, work_triggers.INSTRUCTIONS, work_triggers.CHANGES}
        if not {COUNTERS, CHANGES, SCORE, *FILED, *counted} <= known:
            return
        cursor.execute(f"SELECT 1 FROM {COUNTERS} WHERE study = {IN_USE}")  # nosec B608 # names of our own
        if cursor.fetchone():
            return
    if {name for name, _table in _existing(connection)} != set(_names()):
        remove(connection)
        postgresql = _is_postgresql(connection)
        _carry_out(connection, _on_postgresql() if postgresql else _on_sqlite())
        _carry_out(connection, work_triggers.on_postgresql() if postgresql else work_triggers.on_sqlite())
    # The triggers are committed, so an answer is either counted by them or seen by this statement.
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for table in (COUNTERS, CHANGES):
            cursor.execute(f"DELETE FROM {table} WHERE study > 0 AND study NOT IN (SELECT id FROM annotation_study)")  # nosec B608 # names of our own
        for study, answers, scores, judged in differences(connection):
            add(cursor, connection, study, changes=1, answers=answers, scores=scores, judged=judged, tasks=1)
        work_triggers.clear(connection)
        for row in work_triggers.differences(connection):
            work_triggers.add(connection, row)
        add(cursor, connection, FILING, changes=1)
        cursor.execute(_upsert(f"SELECT {IN_USE}, 1, 0, 0, 0, 0 WHERE true"))


def _carry_out(connection: BaseDatabaseWrapper, statements: Iterable[str]) -> None:
    """Run the statements, each in a transaction of its own: one that locked two tables at once would wait for answers that
    wait for it. What an interruption leaves is made whole by the next `install`.
    """
    for statement in statements:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(statement)


def add(cursor: Any, connection: BaseDatabaseWrapper, study: int, **counts: int) -> None:
    """Add to the counts of a study."""
    values = ", ".join(str(int(counts.get(column, 0))) for column in COLUMNS)
    if _is_postgresql(connection):
        cursor.execute(f"INSERT INTO {CHANGES} (study, {', '.join(COLUMNS)}) VALUES ({int(study)}, {values})")  # nosec B608 # names of our own
    else:
        cursor.execute(_upsert(f"SELECT {int(study)}, {values} WHERE true"))


def differences(connection: BaseDatabaseWrapper) -> list[tuple[int, int, int, int]]:
    """Count every study from its rows: (study, answers and scores that its counts lack, judges' answers)."""
    answers = f"SELECT t.study_id AS study, COUNT(*) AS n FROM {ASSIGNMENT} a JOIN {TASK} t ON t.id = a.task_id"  # nosec B608 # names of our own
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH held AS (
              SELECT study, SUM(answers) AS answers, SUM(scores) AS scores FROM (
                SELECT study, answers, scores FROM {COUNTERS} UNION ALL SELECT study, answers, scores FROM {CHANGES}
              ) each_one GROUP BY study
            ), answered AS ({answers} WHERE a.status = 'submitted' GROUP BY t.study_id
            ), judged AS ({answers} JOIN annotation_rater r ON r.id = a.rater_id
              WHERE r.kind = 'judge' AND a.status <> 'open' GROUP BY t.study_id
            ), scored AS (
              SELECT t.study_id AS study, COUNT(*) AS n FROM {SCORE} s
              JOIN {ASSIGNMENT} a ON a.id = s.assignment_id JOIN {TASK} t ON t.id = a.task_id GROUP BY t.study_id
            )
            SELECT study.id, COALESCE(answered.n, 0) - COALESCE(held.answers, 0),
              COALESCE(scored.n, 0) - COALESCE(held.scores, 0), COALESCE(judged.n, 0)
            FROM annotation_study study LEFT JOIN held ON held.study = study.id
            LEFT JOIN answered ON answered.study = study.id LEFT JOIN scored ON scored.study = study.id
            LEFT JOIN judged ON judged.study = study.id ORDER BY study.id"""  # nosec B608 # names of our own
        )
        return [(int(pk), int(answers), int(scores), int(judged)) for pk, answers, scores, judged in cursor.fetchall()]


def _is_postgresql(connection: BaseDatabaseWrapper) -> bool:
    return connection.vendor == "postgresql"


def _existing(connection: BaseDatabaseWrapper) -> list[tuple[str, str]]:
    """List (trigger, table) of the triggers that count."""
    if _is_postgresql(connection):
        query = "SELECT tgname, tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"
    else:
        query = "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'"
    with connection.cursor() as cursor:
        cursor.execute(query)
        return [(name, table) for name, table in cursor.fetchall() if name.startswith(PREFIX)]


def _names() -> Iterator[str]:
    for table in (SCORE, ASSIGNMENT, TASK):
        yield from (f"{PREFIX}{table}_insert", f"{PREFIX}{table}_delete")
    yield from (f"{PREFIX}{table}_update" for table in (ASSIGNMENT, TASK, *FILED))
    yield f"{PREFIX}generation_category_delete"
    yield from work_triggers.names()


def _upsert(select: str) -> str:
    sums = ", ".join(f"{column} = {COUNTERS}.{column} + excluded.{column}" for column in COLUMNS)
    return f"INSERT INTO {COUNTERS} (study, {', '.join(COLUMNS)}) {select} ON CONFLICT (study) DO UPDATE SET {sums}"  # nosec B608 # names of our own


def _differs(table_columns: tuple[str, ...], distinct: str) -> str:
    return " OR ".join(f"OLD.{column} {distinct} NEW.{column}" for column in table_columns)


def _on_sqlite() -> Iterator[str]:
    """Each row that changes is added to the counter at once: SQLite has one writer, who waits for nobody."""
    place = f"FROM {TASK} t JOIN annotation_rater r ON r.id = {{row}}.rater_id WHERE t.id = {{row}}.task_id"

    def trigger(table: str, event: str, select: str, when: str = "", of: str = "") -> str:
        name = f"{PREFIX}{table}_{event.lower()}"
        when = f"WHEN {when} " if when else ""
        return f"CREATE TRIGGER {name} AFTER {event}{of} ON {table} {when}BEGIN {_upsert(select)}; END"

    for event, row, sign in (("INSERT", "NEW", "1"), ("DELETE", "OLD", "-1")):
        yield trigger(
            SCORE,
            event,
            f"SELECT t.study_id, 1, 0, {sign}, r.kind = 'judge', 0 FROM {ASSIGNMENT} a JOIN {TASK} t ON t.id = a.task_id "  # nosec B608 # names of our own
            f"JOIN annotation_rater r ON r.id = a.rater_id WHERE a.id = {row}.assignment_id",
        )
        select = f"SELECT t.study_id, 1, {sign} * ({row}.status = 'submitted'), 0, r.kind = 'judge', 0 "
        yield trigger(ASSIGNMENT, event, select + place.format(row=row), f"{row}.status <> 'open'")
        yield trigger(TASK, event, f"SELECT {row}.study_id, 0, 0, 0, 0, 1 WHERE true")
    select = "SELECT t.study_id, 1, (NEW.status = 'submitted') - (OLD.status = 'submitted'), 0, r.kind = 'judge', 0 "
    watched = f" OF {', '.join(WATCHED)}"
    yield trigger(ASSIGNMENT, "UPDATE", select + place.format(row="NEW"), _differs(WATCHED, "IS NOT"), watched)
    yield trigger(
        TASK, "UPDATE", "SELECT NEW.study_id, 1, 0, 0, 0, 1 WHERE true", "OLD.gold IS NOT NEW.gold", " OF gold"
    )
    filed = "SELECT 0, 1, 0, 0, 0, 0 WHERE true"
    for table, columns in FILED.items():
        yield trigger(table, "UPDATE", filed, _differs(columns, "IS NOT"), f" OF {', '.join(columns)}")
    yield trigger("generation_category", "DELETE", filed)


def _on_postgresql() -> Iterator[str]:
    """Each statement adds a row of changes, so that transactions wait for nothing."""
    into = f"INSERT INTO {CHANGES} (study, {', '.join(COLUMNS)})"

    def function(name: str, statement: str) -> str:
        body = f"BEGIN {statement}; RETURN NULL; END"
        return f"CREATE OR REPLACE FUNCTION {PREFIX}{name}() RETURNS trigger AS $$ {body} $$ LANGUAGE plpgsql"

    def trigger(table: str, event: str, how: str, name: str, of: str = "") -> str:
        made = f"CREATE TRIGGER {PREFIX}{table}_{event.lower()} AFTER {event}{of} ON {table}"
        return f"{made} {how} EXECUTE FUNCTION {PREFIX}{name}()"

    judged = "COUNT(*) FILTER (WHERE r.kind = 'judge')"
    sign = "(CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END)"
    at = f"JOIN {TASK} t ON t.id = a.task_id JOIN annotation_rater r ON r.id = a.rater_id"
    yield function(
        "scores",
        f"{into} SELECT t.study_id, COUNT(*), 0, {sign} * COUNT(*), {judged}, 0 FROM moved s "  # nosec B608 # names of our own
        f"JOIN {ASSIGNMENT} a ON a.id = s.assignment_id {at} GROUP BY t.study_id",
    )
    yield function(
        "assignments",
        f"{into} SELECT t.study_id, COUNT(*), {sign} * COUNT(*) FILTER (WHERE a.status = 'submitted'), 0, {judged}, 0 "  # nosec B608 # names of our own
        f"FROM moved a {at} WHERE a.status <> 'open' GROUP BY t.study_id",
    )
    yield function("tasks", f"{into} SELECT study_id, 0, 0, 0, 0, COUNT(*) FROM moved GROUP BY study_id")  # nosec B608 # names of our own
    for table, name in ((SCORE, "scores"), (ASSIGNMENT, "assignments"), (TASK, "tasks")):
        for event, rows in (("INSERT", "NEW"), ("DELETE", "OLD")):
            yield trigger(table, event, f"REFERENCING {rows} TABLE AS moved FOR EACH STATEMENT", name)
    yield function(
        "assignment",
        f"{into} SELECT t.study_id, 1, (NEW.status = 'submitted')::int - (OLD.status = 'submitted')::int, 0, "  # nosec B608 # names of our own
        f"(r.kind = 'judge')::int, 0 FROM {TASK} t JOIN annotation_rater r ON r.id = NEW.rater_id "
        "WHERE t.id = NEW.task_id",
    )
    changed = f"FOR EACH ROW WHEN ({_differs(WATCHED, 'IS DISTINCT FROM')})"
    yield trigger(ASSIGNMENT, "UPDATE", changed, "assignment", f" OF {', '.join(WATCHED)}")
    yield function("task", f"{into} VALUES (NEW.study_id, 1, 0, 0, 0, 1)")
    yield trigger(TASK, "UPDATE", "FOR EACH ROW WHEN (OLD.gold IS DISTINCT FROM NEW.gold)", "task", " OF gold")
    yield function("filed", f"{into} VALUES (0, 1, 0, 0, 0, 0)")
    for table, columns in FILED.items():
        changed = f"FOR EACH ROW WHEN ({_differs(columns, 'IS DISTINCT FROM')})"
        yield trigger(table, "UPDATE", changed, "filed", f" OF {', '.join(columns)}")
    yield trigger("generation_category", "DELETE", "FOR EACH ROW", "filed")
