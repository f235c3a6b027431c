-- Outbound webhooks: subscriptions, and one row for each delivery that is owed or was given up.
CREATE TABLE subscriptions (
  webhook_id TEXT PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  url        TEXT    NOT NULL,
  events     TEXT    NOT NULL,          -- JSON list of type names
  tags       TEXT    NOT NULL,          -- JSON list
  algorithms TEXT    NOT NULL,          -- JSON list
  secret     TEXT    NOT NULL,          -- signs, so it can't be a hash
  secret_made     INTEGER NOT NULL,
  previous_secret TEXT    NOT NULL DEFAULT '',
  previous_until  INTEGER NOT NULL DEFAULT 0,
  created_at      INTEGER NOT NULL,
  failing_since   INTEGER,
  disabled        TEXT    NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX subscriptions_by_tenant ON subscriptions (tenant, created_at);

CREATE TABLE outbox (
  delivery_id TEXT PRIMARY KEY,
  webhook_id  TEXT    NOT NULL,
  run_id      TEXT    NOT NULL,
  sequence    INTEGER NOT NULL,
  event_type  TEXT    NOT NULL,
  attempts    INTEGER NOT NULL DEFAULT 0,
  due_at       INTEGER,                 -- null: a dead letter
  leased_until INTEGER NOT NULL DEFAULT 0,
  fence        INTEGER NOT NULL DEFAULT 0,
  last_status  INTEGER,
  died_at      INTEGER,
  reason       TEXT    NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_lanes ON outbox (webhook_id, run_id, sequence) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_dead ON outbox (webhook_id, died_at, delivery_id) WHERE died_at IS NOT NULL;
