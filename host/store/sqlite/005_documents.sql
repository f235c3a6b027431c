-- Small durable things that belong to no run.
CREATE TABLE documents (
  kind       TEXT NOT NULL,
  key        TEXT NOT NULL,
  value      BLOB NOT NULL,                    -- JSON
  version    INTEGER NOT NULL,
  expires_at INTEGER,                          -- ms since 1970; null: never
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE INDEX documents_expiring ON documents (expires_at) WHERE expires_at IS NOT NULL;
