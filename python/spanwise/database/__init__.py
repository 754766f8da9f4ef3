"""What was said and run? Sessions, runs and their events, kept where a restart finds them."""

from spanwise.database.postgresql import PostgresqlDatabase
from spanwise.database.records import Database, RunRecord, SessionRecord, SessionsAsked
from spanwise.database.sqlite import SqliteDatabase

__all__ = ["Database", "PostgresqlDatabase", "RunRecord", "SessionRecord", "SessionsAsked", "SqliteDatabase"]
