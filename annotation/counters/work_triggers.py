"""The triggers that keep the counts of a study by rater and by instruction, for its dashboard; `triggers.py` installs them.

On SQLite each row that changes is added to RaterCounter and InstructionCounter at once. On PostgreSQL each statement adds
rows of WorkChange, so that raters who answer at once wait for nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

PREFIX = "counted_work_"
ASSIGNMENT, TASK, SEAT = "annotation_assignment", "annotation_task", "annotation_seat"
CHECK = "annotation_checkoutcome"
RATERS, INSTRUCTIONS, CHANGES = "annotation_ratercounter", "annotation_instructioncounter", "annotation_workchange"
OF_RATER = (
    *("given", "answered", "skipped", "unscored", "surplus", "excluded", "discredited"),
    *("timed", "seconds", "checks", "failed", "removed"),
)
OF_INSTRUCTION = ("tasks", "seats", "taken", "people", "judged")
SUMS = (*OF_RATER, *OF_INSTRUCTION)
WATCHED = ("status", "repeat", "discredited", "active_seconds", "submitted_at")
"""Columns of an assignment on which the counts rest. What else they rest on, such as its task and rater, never changes."""
_RATER = "JOIN annotation_rater r ON r.id = {row}.rater_id"
_RESPONSE = "JOIN generation_response p ON p.id = t.response_a_id"
_CHECKS = "purpose IN ('gold', 'control')"
Values = Mapping[str, str]
"""SQL expressions by column; columns that are left out are 0."""


def names() -> Iterator[str]:
    """The names of the triggers."""
    for table in (ASSIGNMENT, TASK, SEAT, CHECK):
        for event in ("insert", "delete") if table == TASK else ("insert", "delete", "update"):
            yield f"{PREFIX}{table}_{event}"


def _one(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1 ELSE 0 END"


def _rater_values(row: str) -> dict[str, str]:
    """What an assignment adds to its rater's counts; `r` is the rater."""
    counts = f"{row}.repeat = 0 AND ({row}.status = 'submitted' OR ({row}.status = 'derived' AND r.kind = 'judge'))"
    return {
        "given": _one(f"{row}.status <> 'open'"),
        "answered": _one(counts),
        "skipped": _one(f"{row}.status = 'skipped'"),
        "unscored": _one(f"{row}.status = 'unscored' AND ({row}.repeat = 0 OR r.kind <> 'judge')"),
        "surplus": _one(f"{row}.status = 'surplus'"),
        "excluded": _one(f"{row}.status = 'excluded' AND {row}.repeat = 0"),
        "discredited": _one(f"{counts} AND {row}.discredited IS TRUE"),
        "timed": _one(f"{counts} AND {row}.active_seconds IS NOT NULL"),
        "seconds": f"CASE WHEN {counts} THEN COALESCE({row}.active_seconds, 0) ELSE 0 END",
    }


def _instruction_values(row: str) -> dict[str, str]:
    """What an assignment adds to the counts of its instruction."""
    return {
        "people": _one(f"{row}.repeat = 0 AND {row}.status = 'submitted' AND r.kind IN ('person', 'slot')"),
        "judged": _one(f"{row}.repeat = 0 AND {row}.status IN ('submitted', 'derived') AND r.kind = 'judge'"),
    }


def _check_values(row: str) -> dict[str, str]:
    mark = f"{row}.{_CHECKS}"
    return {"checks": _one(mark), "failed": _one(f"{mark} AND {row}.passed IS FALSE")}


def _seat_values(row: str) -> dict[str, str]:
    return {"seats": "1", "taken": _one(f"{row}.state = 'taken'")}


def _change(values: dict[str, str], before: dict[str, str]) -> dict[str, str]:
    return {name: f"({values[name]}) - ({before[name]})" for name in values}


def _times(values: dict[str, str], sign: str, wrap: str = "") -> dict[str, str]:
    return {name: f"{sign} * {wrap}({value})" for name, value in values.items()}


def _moved_back() -> str:
    """Whether the time of an answer was taken away or moved back, by which the latest one may not be the latest any more."""
    new, old = "NEW.submitted_at", "OLD.submitted_at"
    return _one(f"{old} IS NOT NULL AND ({new} IS NULL OR {new} < {old})")


def _differs(columns: tuple[str, ...], distinct: str) -> str:
    return " OR ".join(f"OLD.{column} {distinct} NEW.{column}" for column in columns)


def _upsert(table: str, select: str) -> str:
    """The statement that adds the rows of `select`, whose columns are in the table's order, to the table's counters."""
    key, columns = ("rater", OF_RATER) if table == RATERS else ("instruction", OF_INSTRUCTION)
    sets = [f"{name} = {table}.{name} + excluded.{name}" for name in columns]
    names = [*columns]
    if table == RATERS:
        later = f"{table}.last IS NULL OR excluded.last > {table}.last"
        sets.append(f"last = CASE WHEN {later} THEN COALESCE(excluded.last, {table}.last) ELSE {table}.last END")
        names.append("last")
    return (
        f"INSERT INTO {table} (study, {key}, {', '.join(names)}) {select} "  # nosec B608 # names of our own
        f"ON CONFLICT (study, {key}) DO UPDATE SET {', '.join(sets)}"
    )


def _columns(columns: tuple[str, ...], values: Values) -> str:
    return ", ".join(f"{values.get(name, '0')} AS {name}" for name in columns)


def on_sqlite() -> Iterator[str]:
    """SQLite has one writer, who waits for nobody."""

    def to_rater(place: str, study: str, rater: str, values: Values, last: str = "NULL") -> str:
        return _upsert(RATERS, f"SELECT {study}, {rater}, {_columns(OF_RATER, values)}, {last} FROM {place}")  # nosec B608 # names of our own

    def to_instruction(place: str, study: str, values: Values) -> str:
        changes = " OR ".join(f"{name} <> 0" for name in values)
        select = (
            f"SELECT {study} AS study, p.instruction_id AS instruction, {_columns(OF_INSTRUCTION, values)} FROM {place}"  # nosec B608 # names of our own
        )
        return _upsert(INSTRUCTIONS, f"SELECT * FROM ({select}) made WHERE {changes}")  # nosec B608 # names of our own

    def trigger(table: str, event: str, *statements: str, when: str = "", of: str = "") -> str:
        when = f"WHEN {when} " if when else ""
        made = f"CREATE TRIGGER {PREFIX}{table}_{event.lower()} AFTER {event}{of} ON {table} {when}"
        return f"{made}BEGIN {'; '.join(statements)}; END"

    for event, row, sign in (("INSERT", "NEW", "1"), ("DELETE", "OLD", "-1")):
        task = f"{TASK} t {_RATER.format(row=row)} WHERE t.id = {row}.task_id"
        removed = _one(f"{row}.submitted_at IS NOT NULL") if event == "DELETE" else "0"
        yield trigger(
            ASSIGNMENT,
            event,
            to_rater(
                task,
                "t.study_id",
                f"{row}.rater_id",
                _times(_rater_values(row), sign) | {"removed": removed},
                "NEW.submitted_at" if event == "INSERT" else "NULL",
            ),
            to_instruction(
                task.replace(" t ", f" t {_RESPONSE} ", 1), "t.study_id", _times(_instruction_values(row), sign)
            ),
            when=f"{row}.status <> 'open'",
        )
        own = f"{TASK} t {_RESPONSE} WHERE t.id = {row}.task_id"
        yield trigger(SEAT, event, to_instruction(own, f"{row}.study_id", _times(_seat_values(row), sign)))
        own = f"generation_response p WHERE p.id = {row}.response_a_id"
        yield trigger(TASK, event, to_instruction(own, f"{row}.study_id", {"tasks": sign}))
        own = f"{ASSIGNMENT} a JOIN {TASK} t ON t.id = a.task_id WHERE a.id = {row}.assignment_id"
        checks = _times(_check_values(row), sign)
        yield trigger(CHECK, event, to_rater(own, "t.study_id", "a.rater_id", checks), when=f"{row}.{_CHECKS}")
    task = f"{TASK} t {_RATER.format(row='NEW')} WHERE t.id = NEW.task_id"
    changed = _change(_rater_values("NEW"), _rater_values("OLD")) | {"removed": _moved_back()}
    yield trigger(
        ASSIGNMENT,
        "UPDATE",
        to_rater(task, "t.study_id", "NEW.rater_id", changed, "NEW.submitted_at"),
        to_instruction(
            task.replace(" t ", f" t {_RESPONSE} ", 1),
            "t.study_id",
            _change(_instruction_values("NEW"), _instruction_values("OLD")),
        ),
        when=_differs(WATCHED, "IS NOT"),
        of=f" OF {', '.join(WATCHED)}",
    )
    yield trigger(
        SEAT,
        "UPDATE",
        to_instruction(
            f"{TASK} t {_RESPONSE} WHERE t.id = NEW.task_id",
            "NEW.study_id",
            _change(_seat_values("NEW"), _seat_values("OLD")),
        ),
        when="(OLD.state = 'taken') <> (NEW.state = 'taken')",
        of=" OF state",
    )
    yield trigger(
        CHECK,
        "UPDATE",
        to_rater(
            f"{ASSIGNMENT} a JOIN {TASK} t ON t.id = a.task_id WHERE a.id = NEW.assignment_id",
            "t.study_id",
            "a.rater_id",
            _change(_check_values("NEW"), _check_values("OLD")),
        ),
        when=_differs(("purpose", "passed"), "IS NOT"),
        of=" OF purpose, passed",
    )


def on_postgresql() -> Iterator[str]:
    """Rows that came or went in one statement are counted together; an update adds a row for each answer."""

    def function(name: str, *statements: str, when: str = "") -> str:
        inside = "; ".join(statements)
        inside = f"IF {when} THEN {inside}; END IF" if when else inside
        body = f"BEGIN {inside}; RETURN NULL; END"
        return f"CREATE OR REPLACE FUNCTION {PREFIX}{name}() RETURNS trigger AS $$ {body} $$ LANGUAGE plpgsql"

    def trigger(table: str, event: str, how: str, name: str, of: str = "") -> str:
        made = f"CREATE TRIGGER {PREFIX}{table}_{event.lower()} AFTER {event}{of} ON {table}"
        return f"{made} {how} EXECUTE FUNCTION {PREFIX}{name}()"

    def into(
        study: str, rater: str, instruction: str, values: Values, tail: str, last: str = "NULL::timestamptz"
    ) -> str:
        return (
            f"INSERT INTO {CHANGES} (study, rater, instruction, {', '.join(SUMS)}, last) "  # nosec B608 # names of our own
            f"SELECT {study}, {rater}, {instruction}, {_columns(SUMS, values)}, {last} {tail}"
        )

    sign = "(CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END)"
    at = f"FROM moved a JOIN {TASK} t ON t.id = a.task_id"
    removed = f"SUM(CASE WHEN TG_OP = 'DELETE' THEN {_one('a.submitted_at IS NOT NULL')} ELSE 0 END)"
    some = _instruction_values("a")
    yield function(
        "assignments",
        into(
            "t.study_id",
            "a.rater_id",
            "0",
            _times(_rater_values("a"), sign, "SUM") | {"removed": removed},
            f"{at} {_RATER.format(row='a')} WHERE a.status <> 'open' GROUP BY t.study_id, a.rater_id",
            "CASE TG_OP WHEN 'INSERT' THEN MAX(a.submitted_at) END",
        ),
        into(
            "t.study_id",
            "0",
            "p.instruction_id",
            _times(some, sign, "SUM"),
            f"{at} {_RESPONSE} {_RATER.format(row='a')} WHERE a.status IN ('submitted', 'derived') AND a.repeat = 0 "
            "AND r.kind <> 'key' GROUP BY t.study_id, p.instruction_id",
        ),
        when="EXISTS (SELECT 1 FROM moved WHERE status <> 'open')",
    )
    yield function(
        "tasks",
        into(
            "t.study_id",
            "0",
            "p.instruction_id",
            {"tasks": f"{sign} * COUNT(*)"},
            f"FROM moved t {_RESPONSE} GROUP BY t.study_id, p.instruction_id",
        ),
    )
    yield function(
        "seats",
        into(
            "a.study_id",
            "0",
            "p.instruction_id",
            _times(_seat_values("a"), sign, "SUM"),
            f"{at} {_RESPONSE} GROUP BY a.study_id, p.instruction_id",
        ),
    )
    yield function(
        "checks",
        into(
            "t.study_id",
            "a.rater_id",
            "0",
            _times(_check_values("c"), sign, "SUM"),
            f"FROM moved c JOIN {ASSIGNMENT} a ON a.id = c.assignment_id JOIN {TASK} t ON t.id = a.task_id "
            f"WHERE c.{_CHECKS} GROUP BY t.study_id, a.rater_id",
        ),
    )
    for table, name in ((ASSIGNMENT, "assignments"), (TASK, "tasks"), (SEAT, "seats"), (CHECK, "checks")):
        for event, rows in (("INSERT", "NEW"), ("DELETE", "OLD")):
            yield trigger(table, event, f"REFERENCING {rows} TABLE AS moved FOR EACH STATEMENT", name)
    rater = _change(_rater_values("NEW"), _rater_values("OLD")) | {"removed": _moved_back()}
    yield function(
        "assignment",
        into(
            "t.study_id",
            "NEW.rater_id",
            "p.instruction_id",
            rater | _change(_instruction_values("NEW"), _instruction_values("OLD")),
            f"FROM {TASK} t {_RESPONSE} {_RATER.format(row='NEW')} WHERE t.id = NEW.task_id",
            "NEW.submitted_at",
        ),
    )
    yield function(
        "seat",
        into(
            "NEW.study_id",
            "0",
            "p.instruction_id",
            _change(_seat_values("NEW"), _seat_values("OLD")),
            f"FROM {TASK} t {_RESPONSE} WHERE t.id = NEW.task_id",
        ),
    )
    yield function(
        "check",
        into(
            "t.study_id",
            "a.rater_id",
            "0",
            _change(_check_values("NEW"), _check_values("OLD")),
            f"FROM {ASSIGNMENT} a JOIN {TASK} t ON t.id = a.task_id WHERE a.id = NEW.assignment_id",
        ),
    )
    taken = "(OLD.state = 'taken') <> (NEW.state = 'taken')"
    for table, columns, when, name in (
        (ASSIGNMENT, WATCHED, _differs(WATCHED, "IS DISTINCT FROM"), "assignment"),
        (SEAT, ("state",), taken, "seat"),
        (CHECK, ("purpose", "passed"), _differs(("purpose", "passed"), "IS DISTINCT FROM"), "check"),
    ):
        yield trigger(table, "UPDATE", f"FOR EACH ROW WHEN ({when})", name, f" OF {', '.join(columns)}")


def fold(at_once: int) -> str:
    """The statement that adds up to `at_once` rows of changes to the counters, and returns how many there were."""

    def summed(key: str, columns: tuple[str, ...], last: str = "") -> str:
        sums = ", ".join(f"SUM({name})" for name in columns)
        return (
            f"SELECT study, {key}, {sums}{last} FROM gone WHERE {key} <> 0 GROUP BY study, {key} ORDER BY study, {key}"  # nosec B608 # names of our own
        )

    return f"""WITH gone AS (
      DELETE FROM {CHANGES} WHERE id IN (SELECT id FROM {CHANGES} ORDER BY id LIMIT {at_once} FOR UPDATE SKIP LOCKED)
      RETURNING *
    ), raters AS ({_upsert(RATERS, summed("rater", OF_RATER, ", MAX(last)"))} RETURNING study
    ), instructions AS ({_upsert(INSTRUCTIONS, summed("instruction", OF_INSTRUCTION))} RETURNING study
    ) SELECT COUNT(*) FROM gone"""  # nosec B608 # names of our own


def clear(connection: BaseDatabaseWrapper) -> None:
    """Remove the counts of studies that were deleted."""
    with connection.cursor() as cursor:
        for table in (RATERS, INSTRUCTIONS, CHANGES):
            cursor.execute(f"DELETE FROM {table} WHERE study NOT IN (SELECT id FROM annotation_study)")  # nosec B608 # names of our own


def differences(connection: BaseDatabaseWrapper) -> list[dict[str, Any]]:
    """Count every study from its rows, in one statement, and return what its counts lack: study, rater, instruction (0 is
    none) and the columns of WorkChange.
    """

    def rows(
        study: str, rater: str, instruction: str, values: Values, tail: str, fresh: str = "NULL", held: str = "NULL"
    ) -> str:
        return (
            f"SELECT {study} AS study, {rater} AS rater, {instruction} AS instruction, {_columns(SUMS, values)}, "  # nosec B608 # names of our own
            f"{fresh} AS fresh, {held} AS held {tail}"
        )

    def sums(values: dict[str, str]) -> dict[str, str]:
        return {name: f"SUM({value})" for name, value in values.items()}

    def kept(table: str, rater: str, instruction: str, columns: tuple[str, ...]) -> str:
        values = {name: f"-{name}" for name in columns if name != "removed"}
        last = "last" if "given" in columns else no_time
        return rows("study", rater, instruction, values, f"FROM {table}", no_time, last)

    no_time = "CAST(NULL AS timestamp with time zone)" if connection.vendor == "postgresql" else "NULL"
    at, group = f"JOIN {TASK} t ON t.id = a.task_id", "GROUP BY t.study_id,"
    parts = [
        rows(
            "t.study_id",
            "a.rater_id",
            "0",
            sums(_rater_values("a")),
            f"FROM {ASSIGNMENT} a {at} {_RATER.format(row='a')} WHERE a.status <> 'open' {group} a.rater_id",
            "MAX(a.submitted_at)",
            no_time,
        ),
        rows(
            "t.study_id",
            "a.rater_id",
            "0",
            sums(_check_values("c")),
            f"FROM {CHECK} c JOIN {ASSIGNMENT} a ON a.id = c.assignment_id {at} WHERE c.{_CHECKS} {group} a.rater_id",
            no_time,
            no_time,
        ),
        rows(
            "t.study_id",
            "0",
            "p.instruction_id",
            sums(_instruction_values("a")),
            f"FROM {ASSIGNMENT} a {at} {_RESPONSE} {_RATER.format(row='a')} {group} p.instruction_id",
            no_time,
            no_time,
        ),
        rows(
            "t.study_id",
            "0",
            "p.instruction_id",
            {"tasks": "COUNT(*)"},
            f"FROM {TASK} t {_RESPONSE} {group} p.instruction_id",
            no_time,
            no_time,
        ),
        rows(
            "a.study_id",
            "0",
            "p.instruction_id",
            sums(_seat_values("a")),
            f"FROM {SEAT} a {at} {_RESPONSE} GROUP BY a.study_id, p.instruction_id",
            no_time,
            no_time,
        ),
        kept(RATERS, "rater", "0", OF_RATER),
        kept(INSTRUCTIONS, "0", "instruction", OF_INSTRUCTION),
        kept(CHANGES, "rater", "0", OF_RATER) + " WHERE rater <> 0",
        kept(CHANGES, "0", "instruction", OF_INSTRUCTION) + " WHERE instruction <> 0",
    ]
    lacking = ", ".join(f"SUM({name}) AS {name}" for name in SUMS)
    wrong = " OR ".join(f"ABS(SUM({name})) > 0.001" for name in SUMS)
    with connection.cursor() as cursor:
        all_rows = " UNION ALL ".join(parts)
        cursor.execute(
            f"""SELECT study, rater, instruction, {lacking}, MAX(fresh), MAX(held) FROM ({all_rows}) each_one
            WHERE study IN (SELECT id FROM annotation_study) GROUP BY study, rater, instruction
            HAVING {wrong} OR MAX(fresh) > MAX(held) OR (MAX(fresh) IS NOT NULL AND MAX(held) IS NULL)
              OR (MAX(held) IS NOT NULL AND (MAX(fresh) IS NULL OR MAX(fresh) < MAX(held)))
            ORDER BY study, rater, instruction"""  # nosec B608 # names of our own
        )
        found = cursor.fetchall()
        gone = (f"SELECT study, rater FROM {table} WHERE removed > 0" for table in (RATERS, CHANGES))  # nosec B608 # names of our own
        cursor.execute(" UNION ".join(gone))
        unknown = set(cursor.fetchall())
    lacks = []
    for study, rater, instruction, *values, fresh, held in found:
        row = dict(zip(SUMS, values, strict=True)) | {"study": study, "rater": rater, "instruction": instruction}
        row["last"] = fresh if fresh is not None and (held is None or fresh > held) else None
        if fresh != held and row["last"] is None and (study, rater) not in unknown:
            row["removed"] = 1
        if row["last"] is not None or any(abs(row[name]) > 0.001 for name in SUMS):
            lacks.append(row)
    return lacks


def add(connection: BaseDatabaseWrapper, row: Mapping[str, Any]) -> None:
    """Add to the counts of a rater or an instruction what `differences` found lacking."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            columns = ("study", "rater", "instruction", *SUMS, "last")
            marks = ", ".join(["%s"] * len(columns))
            cursor.execute(
                f"INSERT INTO {CHANGES} ({', '.join(columns)}) VALUES ({marks})",  # nosec B608 # names of our own
                [row[name] for name in columns],
            )
            return
        for table, key, names in (
            (RATERS, "rater", (*OF_RATER, "last")),
            (INSTRUCTIONS, "instruction", OF_INSTRUCTION),
        ):
            if row[key]:
                columns = ("study", key, *names)
                marks = ", ".join(["%s"] * len(columns))
                cursor.execute(_upsert(table, f"SELECT {marks} WHERE true"), [row[name] for name in columns])
