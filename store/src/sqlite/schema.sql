-- Bodies are JSON text; times are milliseconds since the Unix epoch. `VERSION` in lib.rs is the version of this schema.
-- postgres/schema.sql has the same tables and columns.

CREATE TABLE matches (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    game       TEXT NOT NULL,
    string     TEXT NOT NULL,
    rated      INTEGER NOT NULL,
    run        TEXT,
    header     TEXT NOT NULL,
    secret     TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    restarts   INTEGER NOT NULL DEFAULT 0,
    ended_ms   INTEGER,
    reason     TEXT,
    released   INTEGER                     -- position in the order of release
) STRICT;
CREATE INDEX matches_running ON matches (seq) WHERE ended_ms IS NULL;
CREATE INDEX matches_ended ON matches (ended_ms) WHERE ended_ms IS NOT NULL;
CREATE UNIQUE INDEX matches_released ON matches (released) WHERE released IS NOT NULL;
CREATE INDEX matches_game ON matches (game);
CREATE INDEX matches_run ON matches (run) WHERE run IS NOT NULL;
CREATE INDEX matches_run_released ON matches (run, released) WHERE run IS NOT NULL AND released IS NOT NULL;
CREATE INDEX matches_rated ON matches (rated);
CREATE INDEX matches_game_rated ON matches (game, rated);

-- Game and rated flag are copied from the match, so that the index alone lists an agent's matches.
CREATE TABLE seats (
    match   INTEGER NOT NULL REFERENCES matches (seq),
    seat    INTEGER NOT NULL,
    agent   TEXT NOT NULL,
    session TEXT,                          -- session of the client; null for an agent of the server
    "join"  TEXT,                          -- join request that filled the seat
    game    TEXT NOT NULL DEFAULT '',
    rated   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID;
CREATE INDEX seats_agent ON seats (agent, match, game, rated);
CREATE INDEX seats_join ON seats ("join") WHERE "join" IS NOT NULL;

-- Match logs. Rows are in order of arrival, so that a commit touches few pages; the index is narrow.
CREATE TABLE acts (
    match INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    body  TEXT NOT NULL,
    UNIQUE (match, n)
) STRICT;

CREATE TABLE records (
    match  INTEGER PRIMARY KEY REFERENCES matches (seq),
    footer TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    key_hash   TEXT NOT NULL,
    agent      TEXT NOT NULL,
    body       TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    old_key    TEXT                        -- previous key, until the client confirms the new one
) STRICT, WITHOUT ROWID;

CREATE TABLE joins (
    n       INTEGER PRIMARY KEY,           -- order of arrival
    id      TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    body    TEXT NOT NULL                  -- request
) STRICT;
CREATE INDEX joins_session ON joins (session);

-- Runs that clients play. The body is the enrolment: the request, the entrants and the result. It is empty once the run is
-- removed; its name stays taken.
CREATE TABLE runs (
    name     TEXT PRIMARY KEY,
    suite    TEXT NOT NULL,
    season   TEXT,
    hidden   INTEGER NOT NULL,             -- 1 while the season hides the data of the run
    ended_ms INTEGER,                      -- end of the run, or of its season if that ends later
    body     TEXT NOT NULL
) STRICT;
CREATE INDEX runs_active ON runs (name) WHERE ended_ms IS NULL OR hidden = 1;
CREATE INDEX runs_ended ON runs (ended_ms) WHERE ended_ms IS NOT NULL AND body <> '';
CREATE INDEX runs_season ON runs (suite, season, name) WHERE season IS NOT NULL;

-- Seasons that have begun. A contest is a kind and a name, such as `ladder:chess` or `suite:quick`.
CREATE TABLE seasons (
    contest   TEXT NOT NULL,
    name      TEXT NOT NULL,
    frozen_ms INTEGER,                     -- time since which the season is final
    body      TEXT NOT NULL,
    PRIMARY KEY (contest, name)
) STRICT, WITHOUT ROWID;

-- Agents in the seasons of ladders.
CREATE TABLE standings (
    contest TEXT NOT NULL,
    season  TEXT NOT NULL,
    agent   TEXT NOT NULL,
    owner   TEXT,                          -- owner of the name; empty for a guest, null if no join has used the name
    body    TEXT,                          -- rating; null before the first counted match
    PRIMARY KEY (contest, season, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    hash       BLOB PRIMARY KEY,           -- SHA-256 of the token
    owner      TEXT NOT NULL,
    scopes     TEXT NOT NULL,
    names      TEXT NOT NULL,              -- JSON list
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    revoked_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE suspensions (
    owner    TEXT PRIMARY KEY,             -- owner whose connections are refused
    since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Requests of operators that the server has not processed yet.
CREATE TABLE end_requests (
    match TEXT PRIMARY KEY                 -- id of the match to end
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
