-- The shelf as operators use it: how long an event may match, what several waits mean, duplicates, listings.
ALTER TABLE shelf ADD COLUMN expires_at INTEGER;              -- ms since 1970; null: never
ALTER TABLE shelf ADD COLUMN several TEXT NOT NULL DEFAULT 'all';
ALTER TABLE shelf ADD COLUMN headers BLOB NOT NULL DEFAULT '{}';
ALTER TABLE shelf ADD COLUMN duplicates INTEGER NOT NULL DEFAULT 0;
CREATE INDEX shelf_by_age ON shelf (tenant, received_at);
CREATE INDEX shelf_open ON shelf (tenant, received_at) WHERE state <> 'applied';
CREATE INDEX shelf_repeated ON shelf (tenant, received_at) WHERE duplicates > 0;

-- Keys for which somebody once waited: an event that finds its key here and no open wait is late.
CREATE TABLE ended_waits (
  match_key    TEXT NOT NULL,
  interrupt_id TEXT NOT NULL,
  PRIMARY KEY (match_key, interrupt_id)
) WITHOUT ROWID;
CREATE TRIGGER waits_end AFTER DELETE ON waits BEGIN
  INSERT OR IGNORE INTO ended_waits VALUES (OLD.match_key, OLD.interrupt_id);
END;
