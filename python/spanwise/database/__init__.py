"""What was said and run? Sessions, runs and their events, kept where a restart finds them."""

from spanwise.database.records import Database, RunRecord, SessionRecord
from spanwise.database.sqlite import SqliteDatabase

__all__ = ["Database", "RunRecord", "SessionRecord", "SqliteDatabase"]
