-- Version 2: a seat is a row, and so is a join. Who sits where and how many matches a join had is not kept a second time
-- in the row of the session.

CREATE TABLE seated (
    match   INTEGER NOT NULL REFERENCES matches (seq),
    seat    INTEGER NOT NULL,
    agent   TEXT NOT NULL,
    session TEXT,                          -- who holds it; absent for an agent of the server's
    "join"  TEXT,                          -- the join that it came from
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID;
INSERT INTO seated SELECT m.seq, a.key, a.value,
    json_extract(m.secret, '$.seats[' || a.key || '].session'),
    json_extract(m.secret, '$.seats[' || a.key || '].setup.join')
    FROM matches m, json_each(m.agents) a;
DROP TABLE seats;
ALTER TABLE seated RENAME TO seats;
CREATE INDEX seats_agent ON seats (agent, match);
CREATE INDEX seats_join ON seats ("join") WHERE "join" IS NOT NULL;
ALTER TABLE matches DROP COLUMN agents;

CREATE TABLE joins (
    n       INTEGER PRIMARY KEY,           -- in order of arrival
    id      TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    body    TEXT NOT NULL                  -- what was asked for
) STRICT;
CREATE INDEX joins_session ON joins (session);
INSERT INTO joins (id, session, body) SELECT json_extract(j.value, '$.id'), s.id,
    json_set(j.value, '$.count', json_extract(j.value, '$.left') + json_extract(j.value, '$.played'))
    FROM sessions s, json_each(s.body, '$.joins') j;

UPDATE seats SET session = held.session
    FROM (SELECT s.id AS session, m.seq AS match, json_extract(k.value, '$[1]') AS seat
          FROM sessions s, json_each(s.body, '$.seats') k JOIN matches m ON m.id = json_extract(k.value, '$[0]')) AS held
    WHERE seats.match = held.match AND seats.seat = held.seat;

ALTER TABLE sessions DROP COLUMN token;
ALTER TABLE sessions ADD COLUMN old_key TEXT;   -- the key before, while the client may not know the new one
UPDATE sessions SET old_key = json_extract(body, '$.old_key');
