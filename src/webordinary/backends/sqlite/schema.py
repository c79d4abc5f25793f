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
        session        TEXT NOT NULL,              -- the conversation; '' is none
        intent         TEXT NOT NULL,
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
    -- "finished_at IS NULL" means open, and is cheaper to keep up than a list of states
    CREATE INDEX jobs_open ON jobs (lane, seq) WHERE finished_at IS NULL;
    CREATE INDEX jobs_dead ON jobs (lane, seq) WHERE state = 'dead';

    CREATE TABLE letters (
        seq        INTEGER PRIMARY KEY,            -- the order in which they were owed
        about      TEXT NOT NULL,                  -- a job, a mail, or a window of a quota
        kind       TEXT NOT NULL,
        mail       TEXT,
        session    TEXT,
        facts      TEXT NOT NULL,                  -- JSON
        state      TEXT NOT NULL DEFAULT 'owed',   -- or sent, or abandoned
        owed_at    REAL NOT NULL,
        due_at     REAL NOT NULL,                  -- may be sent from then on; a hold moves it, too
        held_by    TEXT,
        attempts   INTEGER NOT NULL DEFAULT 0,
        sent_at    REAL,
        message_id TEXT NOT NULL DEFAULT '',
        reason     TEXT NOT NULL DEFAULT '',
        UNIQUE (about, kind)                       -- owed once, whatever is repeated
    );
    CREATE INDEX letters_owed ON letters (due_at) WHERE state = 'owed';
    CREATE INDEX letters_sent ON letters (session, sent_at) WHERE state = 'sent' AND session IS NOT NULL;

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

    CREATE TABLE projects (
        name       TEXT PRIMARY KEY,
        arrival    TEXT NOT NULL,
        repository TEXT NOT NULL,
        created_at REAL NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE members (
        project TEXT NOT NULL REFERENCES projects,
        address TEXT NOT NULL,
        user    TEXT NOT NULL,
        PRIMARY KEY (project, address)             -- an address is one user of a project
    ) WITHOUT ROWID;
    CREATE INDEX members_by_address ON members (address, project, user);

    CREATE TABLE mails (
        seq          INTEGER PRIMARY KEY,          -- the order of arrival
        id           TEXT NOT NULL UNIQUE,
        message_id   TEXT NOT NULL,
        state        TEXT NOT NULL,
        reason       TEXT NOT NULL,
        from_address TEXT NOT NULL,
        subject      TEXT NOT NULL,
        refs         TEXT NOT NULL,                -- JSON, as files and skipped are
        received_at  REAL NOT NULL,
        blob         TEXT NOT NULL,
        lane         TEXT,
        session      TEXT,
        job          TEXT,
        files        TEXT NOT NULL,
        skipped      TEXT NOT NULL
    );
    CREATE INDEX mails_by_state ON mails (state, seq);

    CREATE TABLE sessions (
        id         TEXT PRIMARY KEY,
        lane       TEXT NOT NULL,
        subject    TEXT NOT NULL,
        started_at REAL NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE threads (
        message_id TEXT PRIMARY KEY,               -- sent or received
        session    TEXT NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE buckets (
        key     TEXT PRIMARY KEY,
        full_at REAL NOT NULL                      -- a bucket that is full again is forgotten
    ) WITHOUT ROWID;
    CREATE INDEX buckets_full ON buckets (full_at);

    CREATE TABLE taken (
        token  TEXT NOT NULL,
        bucket TEXT NOT NULL,
        at     REAL NOT NULL,
        PRIMARY KEY (token, bucket)                -- taken once, whatever is repeated
    ) WITHOUT ROWID;
    CREATE INDEX taken_at ON taken (at);
    """,
    """
    ALTER TABLE projects ADD COLUMN build TEXT NOT NULL DEFAULT '';
    ALTER TABLE projects ADD COLUMN output TEXT NOT NULL DEFAULT '';

    ALTER TABLE jobs ADD COLUMN facts TEXT;        -- JSON; what an outcome left
    CREATE INDEX jobs_with_facts ON jobs (lane, seq) WHERE facts IS NOT NULL;

    CREATE TABLE job_events (
        job     TEXT NOT NULL,
        number  INTEGER NOT NULL,                  -- grows within the job, over all attempts
        at      REAL NOT NULL,
        attempt INTEGER NOT NULL,
        kind    TEXT NOT NULL,
        text    TEXT NOT NULL,
        PRIMARY KEY (job, number)
    ) WITHOUT ROWID;
    """,
    """
    -- Counting and listing jobs by state without reading them all; written once a job, when it ends.
    CREATE INDEX jobs_ended ON jobs (state, seq) WHERE finished_at IS NOT NULL;
    """,
    """
    CREATE TABLE imap_folders (
        folder       TEXT PRIMARY KEY,             -- user@host/folder
        uid_validity INTEGER NOT NULL,
        first_uid    INTEGER NOT NULL,             -- mail from here on is new, ...
        since        REAL NOT NULL,
        unsettled    TEXT NOT NULL,                -- JSON; ... and so are these below it
        took_all     INTEGER NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE blobs (
        id      INTEGER PRIMARY KEY,
        key     TEXT NOT NULL UNIQUE,              -- the SHA-256 of ...
        content BLOB NOT NULL                      -- ... something small; large ones are files
    );

    -- By which moment a bucket's level was written: a clock that was set back changes no level.
    ALTER TABLE buckets ADD COLUMN at REAL NOT NULL DEFAULT 0;
    CREATE TABLE bounces (
        address TEXT PRIMARY KEY,
        letters TEXT NOT NULL,                     -- JSON; those that came back, the latest last
        since   REAL NOT NULL,
        reason  TEXT NOT NULL
    ) WITHOUT ROWID;
    DROP INDEX letters_sent;  -- letters of a conversation are counted in a bucket

    -- A claim reads a few waiting lanes in the order of an index, however many wait.
    DROP INDEX lanes_wanted;
    UPDATE lanes SET wanted_since = NULL WHERE NOT EXISTS
        (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane AND finished_at IS NULL);
    CREATE INDEX lanes_waiting ON lanes (MAX(wanted_since, wanted_from), lane) WHERE wanted_since IS NOT NULL;
    CREATE INDEX lanes_waiting_of ON lanes (project, MAX(wanted_since, wanted_from), lane)
        WHERE wanted_since IS NOT NULL;
    CREATE INDEX lanes_leases ON lanes (lease_until, project) WHERE worker IS NOT NULL;
    CREATE INDEX lanes_of_worker ON lanes (worker) WHERE worker IS NOT NULL;
    CREATE TABLE project_load (
        project TEXT PRIMARY KEY,
        in_hand INTEGER NOT NULL,                  -- lanes with an owner, alive or not
        since   REAL                               -- its longest wait; NULL: no lane of it waits
    ) WITHOUT ROWID;
    CREATE INDEX project_load_waiting ON project_load (in_hand, since, project) WHERE since IS NOT NULL;
    INSERT INTO project_load SELECT project, COUNT(worker),
            MIN(CASE WHEN wanted_since IS NOT NULL THEN MAX(wanted_since, wanted_from) END)
        FROM lanes GROUP BY project;
    CREATE TRIGGER lanes_load AFTER UPDATE OF worker, wanted_since, wanted_from ON lanes
    WHEN (OLD.worker IS NULL) <> (NEW.worker IS NULL)
        OR OLD.wanted_since IS NOT NEW.wanted_since OR OLD.wanted_from <> NEW.wanted_from
    BEGIN
        INSERT OR REPLACE INTO project_load VALUES (
            NEW.project,
            (SELECT COUNT(*) FROM lanes WHERE project = NEW.project AND worker IS NOT NULL),
            (SELECT MAX(wanted_since, wanted_from) FROM lanes
                WHERE project = NEW.project AND wanted_since IS NOT NULL
                ORDER BY MAX(wanted_since, wanted_from) LIMIT 1));
    END;
    ALTER TABLE mails ADD COLUMN language TEXT;
    """,
    """
    -- Lists, counts and a job's story cost the same however many jobs have ended.
    DROP INDEX jobs_dead;
    DROP INDEX jobs_ended;
    CREATE INDEX jobs_by_state ON jobs (state, seq);
    CREATE INDEX jobs_ended_of_lane ON jobs (lane, state, seq) WHERE finished_at IS NOT NULL;
    CREATE INDEX jobs_with_facts_of_session ON jobs (lane, session, seq) WHERE facts IS NOT NULL;
    CREATE INDEX history_of_job ON history (job, event) WHERE job IS NOT NULL;
    CREATE INDEX history_in_time ON history (lane, at) WHERE job IS NULL;
    CREATE TABLE job_counts (
        state TEXT PRIMARY KEY,
        jobs  INTEGER NOT NULL                     -- changed in one step with them
    ) WITHOUT ROWID;
    INSERT INTO job_counts SELECT state, COUNT(*) FROM jobs GROUP BY state;
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


def is_older(connection: sqlite3.Connection) -> bool:
    """Say whether the file has to be brought forward."""
    return version(connection) < SCHEMA_VERSION


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring the file to this version, each step in its own transaction."""
    check_version(connection, path)
    if not is_older(connection):
        return
    # Once and only here: two processes that both do this at first sight lock each other out.
    connection.execute("PRAGMA journal_mode = wal")
    for number in range(version(connection), SCHEMA_VERSION):
        connection.executescript(
            f"BEGIN IMMEDIATE; {MIGRATIONS[number]} PRAGMA user_version = {number + 1}; COMMIT;"
        )
