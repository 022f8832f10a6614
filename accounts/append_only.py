"""An alias that migrations name; core/db/append_only.py holds the code."""

from core.db.append_only import (
    forbid_update as forbid_update,
    forbid_update_of_more as forbid_update_of_more,
    renew_on_sqlite as renew_on_sqlite,
)
