-- A store of version 1, as a server of that time left it: a running match, an ended one, sessions with joins, a ticket, a token.
-- The schema is a copy: it must stay as it was, whatever becomes of schema.sql.
PRAGMA application_id = 1280656472;
PRAGMA user_version = 1;

CREATE TABLE matches (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    game       TEXT NOT NULL,
    string     TEXT NOT NULL,
    rated      INTEGER NOT NULL,
    run        TEXT,
    agents     TEXT NOT NULL,              -- JSON list, by seat
    header     TEXT NOT NULL,
    secret     TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    restarts   INTEGER NOT NULL DEFAULT 0,
    ended_ms   INTEGER,
    reason     TEXT,
    released   INTEGER                     -- place in the order of release
) STRICT;
CREATE INDEX matches_running ON matches (seq) WHERE ended_ms IS NULL;
CREATE INDEX matches_ended ON matches (ended_ms) WHERE ended_ms IS NOT NULL;
CREATE UNIQUE INDEX matches_released ON matches (released) WHERE released IS NOT NULL;
CREATE INDEX matches_game ON matches (game);
CREATE INDEX matches_run ON matches (run) WHERE run IS NOT NULL;

-- Who played where, to find matches by agent.
CREATE TABLE seats (
    agent TEXT NOT NULL,
    match INTEGER NOT NULL REFERENCES matches (seq),
    PRIMARY KEY (agent, match)
) STRICT, WITHOUT ROWID;

-- The logs. Rows lie in order of arrival, so that a commit touches few pages; the index is narrow.
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
    token      BLOB,
    body       TEXT NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tickets (
    ticket  TEXT PRIMARY KEY,
    agent   TEXT NOT NULL,
    run     TEXT,
    body    TEXT NOT NULL,
    "join"  TEXT
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

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO matches VALUES
    (1, 'm_1', 'connect_four', 'connect_four(rows=6,columns=7)', 1, 'spring', '["ann","bob \"x\""]', '{"episode":"m_1"}',
     '{"seed":"42","seats":[{"setup":{"join":"j_1"},"session":"s_old"},{"setup":{"join":"j_2"},"session":"s_2"}]}',
     1000, 2, NULL, NULL, NULL),
    (2, 'm_2', 'nim', 'nim', 0, NULL, '["ann","random"]', '{"episode":"m_2"}',
     '{"seed":"43","seats":[{"setup":{"join":"j_1"},"session":"s_1"},{"setup":{}}]}',
     2000, 0, 3000, 'finished', 1);
INSERT INTO seats VALUES ('ann', 1), ('bob "x"', 1), ('ann', 2), ('random', 2);
INSERT INTO acts VALUES (1, 0, '{"seat":0,"action":3}'), (1, 1, '{"seat":1,"action":4}');
INSERT INTO records VALUES (2, '{"returns":[1,-1]}', '{"ludex":1}');
-- The seat of m_1 was reclaimed: session s_1 holds it now, whatever the row of the match says.
INSERT INTO sessions VALUES
    ('s_1', 'aa', 'ann', NULL, '{"kind":"bot","owner":"o","old_key":"a0","seats":[["m_1",0],["m_2",0]],
     "joins":[{"id":"j_1","request":{"game":"nim"},"left":3,"played":2,"re":7}]}', 9000),
    ('s_2', 'bb', 'bob "x"', x'00', '{"kind":"bot","seats":[["m_1",1]],
     "joins":[{"id":"j_2","request":{"game":"nim"},"left":null,"played":1,"re":8}]}', 9001);
INSERT INTO tickets VALUES ('t_1', 'ann', 'spring', '{"game":"nim"}', 'j_1');
INSERT INTO tokens VALUES (zeroblob(32), 'o', 'play', '["ann"]', 1, NULL, 5);
INSERT INTO meta VALUES ('k', 'v');
INSERT INTO counters VALUES ('rated', 17);
