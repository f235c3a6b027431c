-- The event log is the truth. A row of `log` is one commit: its events become visible together.
CREATE TABLE log (
  position INTEGER PRIMARY KEY,
  run_id   TEXT    NOT NULL,
  sequence INTEGER NOT NULL,          -- of its first event
  at       INTEGER NOT NULL,          -- ms since 1970, UTC
  events   BLOB    NOT NULL           -- [[type, payload, node_id, record], …]
);
CREATE UNIQUE INDEX log_by_run ON log (run_id, sequence);

-- Projections, written in the transaction that appends.
CREATE TABLE runs (
  run_id  TEXT PRIMARY KEY,
  version INTEGER NOT NULL,           -- sequence of the next event: the condition of every append
  wake_at INTEGER,                    -- when the next delay of its workflow is over
  head    BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX runs_to_wake ON runs (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE interrupts (
  interrupt_id TEXT PRIMARY KEY,
  run_id   TEXT NOT NULL,
  node_id  TEXT NOT NULL,
  key      TEXT NOT NULL,
  kind     TEXT NOT NULL,
  status   TEXT NOT NULL,
  version  INTEGER NOT NULL,
  deadline INTEGER,
  progress BLOB NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX interrupts_by_key ON interrupts (run_id, key);
CREATE INDEX interrupts_due ON interrupts (deadline) WHERE status = 'open' AND deadline IS NOT NULL;

CREATE TABLE asked (
  interrupt_id TEXT PRIMARY KEY,
  body BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE waits (                  -- open external-event interrupts, by what they wait for
  match_key TEXT NOT NULL,
  interrupt_id TEXT NOT NULL,
  PRIMARY KEY (match_key, interrupt_id)
) WITHOUT ROWID;

CREATE TABLE conversations (
  tenant TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (tenant, conversation_id)
) WITHOUT ROWID;

CREATE TABLE replies (
  scope  TEXT PRIMARY KEY,
  digest TEXT NOT NULL,
  status INTEGER NOT NULL,
  body   BLOB NOT NULL,
  at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX replies_by_age ON replies (at);

-- Messages are level-triggered: shown < wanted is stale.
CREATE TABLE messages (
  interrupt_id TEXT NOT NULL,
  channel  TEXT NOT NULL,
  address  TEXT NOT NULL,
  tenant   TEXT NOT NULL,
  thread   TEXT NOT NULL,
  wanted   INTEGER NOT NULL,
  shown    INTEGER NOT NULL DEFAULT 0,
  ref      BLOB,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at   INTEGER,                   -- null: nothing to do, or dead
  leased_until INTEGER NOT NULL DEFAULT 0,
  fence    INTEGER NOT NULL DEFAULT 0,
  error    TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (interrupt_id, channel, address)
) WITHOUT ROWID;
CREATE INDEX messages_due ON messages (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE threads (
  tenant  TEXT NOT NULL,
  thread  TEXT NOT NULL,
  channel TEXT NOT NULL,
  address TEXT NOT NULL,
  ref_key TEXT NOT NULL,
  ref     BLOB NOT NULL,
  PRIMARY KEY (tenant, thread, channel, address)
) WITHOUT ROWID;
CREATE INDEX threads_by_ref ON threads (channel, ref_key);

CREATE TABLE shelf (
  source      TEXT NOT NULL,
  event_id    TEXT NOT NULL,
  tenant      TEXT NOT NULL,
  event_type  TEXT NOT NULL,
  match_key   TEXT,
  state       TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  matched     TEXT NOT NULL DEFAULT '[]',
  error       TEXT NOT NULL DEFAULT '',
  correlation BLOB NOT NULL,
  payload     BLOB NOT NULL,
  raw         BLOB NOT NULL,
  PRIMARY KEY (source, event_id)
) WITHOUT ROWID;
CREATE INDEX shelf_due ON shelf (received_at) WHERE state = 'due';
CREATE INDEX shelf_by_key ON shelf (match_key) WHERE state = 'shelved';

CREATE TABLE links (
  digest TEXT PRIMARY KEY,
  interrupt_id TEXT NOT NULL,
  person BLOB NOT NULL
) WITHOUT ROWID;
