-- Version 3: lists of matches read few rows. A seat repeats what its match is asked for, so that the list of an agent is made from
-- the index alone.

ALTER TABLE seats ADD COLUMN game TEXT NOT NULL DEFAULT '';
ALTER TABLE seats ADD COLUMN rated INTEGER NOT NULL DEFAULT 0;
UPDATE seats SET (game, rated) = (SELECT game, rated FROM matches WHERE seq = match);
DROP INDEX seats_agent;
CREATE INDEX seats_agent ON seats (agent, match, game, rated);
CREATE INDEX matches_rated ON matches (rated);
CREATE INDEX matches_game_rated ON matches (game, rated);
