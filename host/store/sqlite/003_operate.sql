-- API keys, the audit trail, and the indexes that operators' counts read.
CREATE TABLE api_keys (
  tenant     TEXT NOT NULL,
  key_id     TEXT NOT NULL,
  sha256     TEXT NOT NULL,             -- of the key itself, which is stored nowhere
  scopes     TEXT NOT NULL,             -- JSON list
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  used_day   INTEGER,                   -- days since 1970, UTC
  PRIMARY KEY (tenant, key_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX api_keys_by_digest ON api_keys (sha256);

CREATE TABLE audit (
  tenant TEXT    NOT NULL,
  number INTEGER NOT NULL,              -- from 1, without a gap
  body   BLOB    NOT NULL,              -- the entry, its hash included
  PRIMARY KEY (tenant, number)
) WITHOUT ROWID;

CREATE TABLE audit_position (           -- the last commit of the log that the trail has taken up
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  position INTEGER NOT NULL
);
INSERT INTO audit_position VALUES (1, 0);

CREATE INDEX interrupts_open ON interrupts (kind) WHERE status = 'open';
CREATE INDEX shelf_failed ON shelf (received_at) WHERE state = 'failed';
CREATE INDEX messages_dead ON messages (interrupt_id) WHERE due_at IS NULL AND shown < wanted;
