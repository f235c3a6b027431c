-- The same tables as in SQLite. The event log is the truth; a row of `log` is one commit.
--
-- What came from outside is kept as the bytes of its JSON, not as jsonb: jsonb refuses U+0000 and rewrites
-- numbers, and nothing here looks into it. An operator reads it with convert_from(events, 'UTF8')::jsonb.
-- Ids are compared byte by byte (COLLATE "C"): listings page by them, and an index must not depend on the
-- operating system's idea of an alphabet.
CREATE TABLE log (
  run_id   text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,              -- of its first event
  at       bigint NOT NULL,              -- ms since 1970, UTC
  events   bytea  NOT NULL,              -- [[type, payload, node_id, record], …]
  position bigint NOT NULL,              -- in the order of transaction ids: see functions.sql
  PRIMARY KEY (run_id, sequence)
);
CREATE UNIQUE INDEX log_by_position ON log (position);

-- Added to every position (functions.sql). Transaction ids begin anew in a cluster into which a dump was loaded; `start` then
-- raises this, so that positions go on from where they were.
CREATE TABLE log_base (
  one  integer PRIMARY KEY CHECK (one = 1),
  base bigint NOT NULL
);
INSERT INTO log_base VALUES (1, 0);

-- Projections, written in the transaction that appends. Room is left on each page for the next version of
-- a row that changes often.
CREATE TABLE runs (
  run_id  text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,               -- sequence of the next event: the condition of every append
  wake_at bigint,                        -- when the next delay of its workflow is over
  head    bytea  NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX runs_to_wake ON runs (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE interrupts (
  interrupt_id text COLLATE "C" PRIMARY KEY,
  run_id   text COLLATE "C" NOT NULL,
  node_id  text COLLATE "C" NOT NULL,
  key      text COLLATE "C" NOT NULL,
  kind     text NOT NULL,
  status   text NOT NULL,
  version  bigint NOT NULL,
  deadline bigint,
  progress bytea NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX interrupts_by_key ON interrupts (run_id, key);
CREATE INDEX interrupts_open ON interrupts (interrupt_id) WHERE status = 'open';
CREATE INDEX interrupts_by_kind ON interrupts (kind) WHERE status = 'open';
CREATE INDEX interrupts_due ON interrupts (deadline) WHERE status = 'open' AND deadline IS NOT NULL;

CREATE TABLE asked (
  interrupt_id text COLLATE "C" PRIMARY KEY,
  body bytea NOT NULL
);

CREATE TABLE waits (                     -- open external-event interrupts, by what they wait for
  match_key    text COLLATE "C" NOT NULL,
  interrupt_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (match_key, interrupt_id)
);

CREATE TABLE conversations (
  tenant          text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL,
  body            bytea NOT NULL,
  PRIMARY KEY (tenant, conversation_id)
);

CREATE TABLE replies (
  scope  text COLLATE "C" PRIMARY KEY,
  digest text NOT NULL,
  status integer NOT NULL,
  body   bytea NOT NULL,
  at     bigint NOT NULL
);
CREATE INDEX replies_by_age ON replies (at);

-- Messages are level-triggered: shown < wanted is stale.
CREATE TABLE messages (
  interrupt_id text COLLATE "C" NOT NULL,
  channel  text COLLATE "C" NOT NULL,
  address  text COLLATE "C" NOT NULL,
  tenant   text COLLATE "C" NOT NULL,
  thread   text NOT NULL,
  wanted   bigint NOT NULL,
  shown    bigint NOT NULL DEFAULT 0,
  ref      bytea,
  attempts integer NOT NULL DEFAULT 0,
  due_at   bigint,                       -- null: nothing to do, or dead
  leased_until bigint NOT NULL DEFAULT 0,
  owner    text NOT NULL DEFAULT '',     -- who claimed it last, so that a replica that stops can hand it back
  fence    bigint NOT NULL DEFAULT 0,
  error    text NOT NULL DEFAULT '',
  PRIMARY KEY (interrupt_id, channel, address)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX messages_due ON messages (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX messages_dead ON messages (interrupt_id) WHERE due_at IS NULL AND shown < wanted;

CREATE TABLE threads (
  tenant  text COLLATE "C" NOT NULL,
  thread  text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  ref_key text COLLATE "C" NOT NULL,
  ref     bytea NOT NULL,
  PRIMARY KEY (tenant, thread, channel, address)
);
CREATE INDEX threads_by_ref ON threads (channel, ref_key);

CREATE TABLE shelf (
  source      text COLLATE "C" NOT NULL,
  event_id    text COLLATE "C" NOT NULL,
  tenant      text COLLATE "C" NOT NULL,
  event_type  text NOT NULL,
  match_key   text COLLATE "C",
  state       text NOT NULL,
  received_at bigint NOT NULL,
  matched     bytea NOT NULL DEFAULT '[]',
  error       text NOT NULL DEFAULT '',
  correlation bytea NOT NULL,
  payload     bytea NOT NULL,
  raw         bytea NOT NULL,
  leased_until bigint NOT NULL DEFAULT 0,
  owner       text NOT NULL DEFAULT '',  -- the replica that works on it
  PRIMARY KEY (source, event_id)
);
CREATE INDEX shelf_due ON shelf (received_at) WHERE state = 'due';
CREATE INDEX shelf_failed ON shelf (received_at) WHERE state = 'failed';
CREATE INDEX shelf_by_key ON shelf (match_key) WHERE state = 'shelved';

CREATE TABLE links (
  digest       text COLLATE "C" PRIMARY KEY,
  interrupt_id text COLLATE "C" NOT NULL,
  person       bytea NOT NULL
);

-- Outbound webhooks: subscriptions, and one row for each delivery that is owed or was given up.
CREATE TABLE subscriptions (
  webhook_id text COLLATE "C" PRIMARY KEY,
  tenant     text COLLATE "C" NOT NULL,
  url        text   NOT NULL,
  events     text[] NOT NULL,
  tags       text[] NOT NULL,
  algorithms text[] NOT NULL,
  secret     text   NOT NULL,            -- signs, so it can't be a hash
  secret_made     boolean NOT NULL,
  previous_secret text    NOT NULL DEFAULT '',
  previous_until  bigint  NOT NULL DEFAULT 0,
  created_at      bigint  NOT NULL,
  failing_since   bigint,
  disabled        text    NOT NULL DEFAULT ''
);
CREATE INDEX subscriptions_by_tenant ON subscriptions (tenant, created_at);
CREATE INDEX subscriptions_active ON subscriptions (tenant) WHERE disabled = '';

CREATE TABLE outbox (
  delivery_id text COLLATE "C" PRIMARY KEY,
  -- An append and the removal of a subscription may meet: the reference lets no delivery outlive it.
  webhook_id  text COLLATE "C" NOT NULL REFERENCES subscriptions ON DELETE CASCADE,
  run_id      text COLLATE "C" NOT NULL,
  sequence    bigint  NOT NULL,
  event_type  text    NOT NULL,
  attempts    integer NOT NULL DEFAULT 0,
  due_at       bigint,                   -- null: a dead letter
  leased_until bigint  NOT NULL DEFAULT 0,
  owner        text    NOT NULL DEFAULT '',
  fence        bigint  NOT NULL DEFAULT 0,
  last_status  integer,
  died_at      bigint,
  reason       text    NOT NULL DEFAULT ''
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX outbox_due ON outbox (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_lanes ON outbox (webhook_id, run_id, sequence) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_dead ON outbox (webhook_id, died_at, delivery_id) WHERE died_at IS NOT NULL;
CREATE INDEX outbox_by_age ON outbox (died_at) WHERE died_at IS NOT NULL;

CREATE TABLE api_keys (
  tenant     text COLLATE "C" NOT NULL,
  key_id     text COLLATE "C" NOT NULL,
  sha256     text COLLATE "C" NOT NULL,  -- of the key itself, which is stored nowhere
  scopes     text[] NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  used_day   integer,                    -- days since 1970, UTC
  PRIMARY KEY (tenant, key_id)
);
CREATE UNIQUE INDEX api_keys_by_digest ON api_keys (sha256);

CREATE TABLE audit (
  tenant text COLLATE "C" NOT NULL,
  number bigint NOT NULL,                -- from 1, without a gap
  body   bytea  NOT NULL,                -- the entry, its hash included
  PRIMARY KEY (tenant, number)
);

CREATE TABLE audit_position (            -- the last commit of the log that the trail has taken up
  one      integer PRIMARY KEY CHECK (one = 1),
  position bigint NOT NULL
);
INSERT INTO audit_position VALUES (1, 0);
