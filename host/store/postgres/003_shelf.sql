-- The shelf as operators use it: how long an event may match, what several waits mean, duplicates, listings.
ALTER TABLE shelf
  ADD COLUMN expires_at bigint,                 -- ms since 1970; null: never
  ADD COLUMN several    text    NOT NULL DEFAULT 'all',
  ADD COLUMN headers    bytea   NOT NULL DEFAULT '{}',
  ADD COLUMN duplicates integer NOT NULL DEFAULT 0;
CREATE INDEX shelf_by_age ON shelf (tenant, received_at);
CREATE INDEX shelf_open ON shelf (tenant, received_at) WHERE state <> 'applied';
CREATE INDEX shelf_repeated ON shelf (tenant, received_at) WHERE duplicates > 0;

-- Keys for which somebody once waited: an event that finds its key here and no open wait is late. An
-- interrupt ends in one transaction, so no two of them ever write the same row and wait for each other.
CREATE TABLE ended_waits (
  match_key    text COLLATE "C" NOT NULL,
  interrupt_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (match_key, interrupt_id)
);
CREATE FUNCTION sayso_wait_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ended_waits VALUES (OLD.match_key, OLD.interrupt_id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER waits_end AFTER DELETE ON waits FOR EACH ROW EXECUTE FUNCTION sayso_wait_ended();
