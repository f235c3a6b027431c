-- Small durable things that belong to no run.
CREATE TABLE documents (
  kind       text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  value      bytea   NOT NULL,                 -- JSON
  version    integer NOT NULL,
  expires_at bigint,                           -- ms since 1970; null: never
  PRIMARY KEY (kind, key)
);
CREATE INDEX documents_expiring ON documents (expires_at) WHERE expires_at IS NOT NULL;
