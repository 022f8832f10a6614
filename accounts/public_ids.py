"""An alias that migrations name; core/db/public_ids.py holds the code."""

from core.db.public_ids import new_public_id as new_public_id
