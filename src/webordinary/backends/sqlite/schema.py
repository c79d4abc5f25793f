"""Tables, and how an older file is brought forward. A newer one is refused."""

from __future__ import annotations

import sqlite3

from webordinary.core.errors import SchemaMismatch

# One entry a version; an entry is never edited once released.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE lanes (
        lane          TEXT PRIMARY KEY,            -- project#user
        project       TEXT NOT NULL,
        worker        TEXT,                        -- the owner; only lease_until says whether it lives
        fence         INTEGER NOT NULL DEFAULT 0,  -- grows with every claim, never restarts
        claimed_at    REAL,
        last_activity REAL,
        lease_until   REAL,
        last_worker   TEXT,                        -- whose workspace is warm
        wanted_since  REAL,                        -- the claim request: since when ...
        wanted_from   REAL NOT NULL DEFAULT 0,     -- ... and not before (back-off, parking)
        failures      INTEGER NOT NULL DEFAULT 0,  -- failed attempts in a row
        parked_until  REAL
    ) WITHOUT ROWID;
    CREATE INDEX lanes_wanted ON lanes (wanted_since) WHERE wanted_since IS NOT NULL;
    CREATE INDEX lanes_owned ON lanes (project, worker) WHERE worker IS NOT NULL;

    CREATE TABLE jobs (
        seq            INTEGER PRIMARY KEY,        -- the order of submission
        id             TEXT NOT NULL UNIQUE,
        lane           TEXT NOT NULL REFERENCES lanes,
        message_id     TEXT NOT NULL,
        instruction    TEXT NOT NULL,
        arrival        TEXT NOT NULL,
        wants_reply    INTEGER NOT NULL,
        state          TEXT NOT NULL,
        attempt        INTEGER NOT NULL DEFAULT 0,
        fence          INTEGER NOT NULL DEFAULT 0, -- of the claim that was given the job last
        worker         TEXT,
        submitted_at   REAL NOT NULL,
        started_at     REAL,
        finished_at    REAL,
        due_at         REAL,
        interrupted    INTEGER NOT NULL DEFAULT 0,
        interrupted_by TEXT,
        note           TEXT NOT NULL DEFAULT '',
        UNIQUE (lane, message_id)
    );
    CREATE INDEX jobs_open ON jobs (lane, seq) WHERE state IN ('queued', 'running', 'retrying');
    CREATE INDEX jobs_dead ON jobs (lane, seq) WHERE state = 'dead';

    CREATE TABLE owed_replies (
        job     TEXT NOT NULL,
        kind    TEXT NOT NULL,
        owed_at REAL NOT NULL,
        PRIMARY KEY (job, kind)                    -- owed once, whatever is repeated
    ) WITHOUT ROWID;

    CREATE TABLE workers (
        worker   TEXT PRIMARY KEY,
        host     TEXT NOT NULL,
        pid      INTEGER NOT NULL,
        slots    INTEGER NOT NULL,
        since    REAL NOT NULL,
        seen_at  REAL NOT NULL,
        draining INTEGER NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE history (
        event  INTEGER PRIMARY KEY,
        at     REAL NOT NULL,
        lane   TEXT NOT NULL,
        what   TEXT NOT NULL,
        worker TEXT,
        fence  INTEGER NOT NULL,
        job    TEXT,
        note   TEXT NOT NULL
    );
    CREATE INDEX history_of_lane ON history (lane, event);
    """,
)

SCHEMA_VERSION = len(MIGRATIONS)


def version(connection: sqlite3.Connection) -> int:
    """Read which version wrote the file; 0 means an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_version(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a file from the future: its rows may mean what this version can't know."""
    found = version(connection)
    if found > SCHEMA_VERSION:
        raise SchemaMismatch(
            f"{path} has schema version {found}; this program knows up to {SCHEMA_VERSION}. "
            "Nothing was changed. Install the newer webordinary again, or use another --home."
        )


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring the file to this version, each step in its own transaction."""
    check_version(connection, path)
    if version(connection) == SCHEMA_VERSION:
        return
    # Once and only here: two processes that both do this at first sight lock each other out.
    connection.execute("PRAGMA journal_mode = wal")
    for number in range(version(connection), SCHEMA_VERSION):
        connection.executescript(
            f"BEGIN IMMEDIATE; {MIGRATIONS[number]} PRAGMA user_version = {number + 1}; COMMIT;"
        )
