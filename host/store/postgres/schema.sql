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
  PRIMARY KEY (run_id, sequence)
);

-- Projections, written in the transaction that appends. Room is left on each page for the next version of
-- a row that changes often.
CREATE TABLE runs (
  run_id  text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,               -- sequence of the next event: the condition of every append
  head    bytea  NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

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
CREATE INDEX shelf_by_key ON shelf (match_key) WHERE state = 'shelved';

CREATE TABLE links (
  digest       text COLLATE "C" PRIMARY KEY,
  interrupt_id text COLLATE "C" NOT NULL,
  person       bytea NOT NULL
);

-- Many commits in one statement. Each array of the first family has one element a commit; the others name
-- the commit that they belong to by its position (`…_of`, from 1). Answers with the positions of those
-- commits that found their run at the expected version; the others left nothing behind.
--
-- A unique index that refuses a row undoes the statement, and the caller sends the commits again in smaller
-- groups until the one that is to blame stands alone. So every commit is done wholly or not at all.
--
-- Rows are locked family by family, and within a family in the order of their ids (the caller sorts the
-- runs, each statement below sorts the rest), so two processes that append at once wait for each other in
-- one direction only.
CREATE FUNCTION sayso_append(
  run_ids text[], expecteds bigint[], versions bigint[], heads bytea[], ats bigint[], logs bytea[],
  new_of int[], new_ids text[], nodes text[], keys text[], kinds text[], new_statuses text[],
  new_versions bigint[], deadlines bigint[], new_progresses bytea[], askeds bytea[],
  old_of int[], old_ids text[], old_statuses text[], old_versions bigint[], old_progresses bytea[],
  old_notifies boolean[],
  wait_of int[], wait_keys text[], wait_ids text[], wait_opens boolean[],
  message_of int[], message_ids text[], channels text[], addresses text[], threads text[],
  talk_of int[], talk_tenants text[], talk_ids text[], talk_bodies bytea[], talk_opens boolean[],
  reply_of int[], scopes text[], digests text[], reply_statuses int[], reply_bodies bytea[]
) RETURNS int[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  moved int[];
  ok boolean[];
BEGIN
  WITH done AS (
    UPDATE runs SET version = g.version, head = g.head
    FROM unnest(run_ids, expecteds, versions, heads)
      WITH ORDINALITY AS g(run_id, expected, version, head, n)
    WHERE g.expected > 0 AND runs.run_id = g.run_id AND runs.version = g.expected
    RETURNING g.n::int AS n
  ) SELECT coalesce(array_agg(n), '{}') INTO moved FROM done;

  IF 0 = ANY (expecteds) THEN
    INSERT INTO runs (run_id, version, head)
    SELECT g.run_id, g.version, g.head
    FROM unnest(run_ids, expecteds, versions, heads) AS g(run_id, expected, version, head)
    WHERE g.expected = 0 ORDER BY g.run_id;
  END IF;

  SELECT array_agg(expecteds[n] = 0 OR n = ANY (moved) ORDER BY n),
         coalesce(array_agg(n) FILTER (WHERE expecteds[n] = 0 OR n = ANY (moved)), '{}')
  INTO ok, moved FROM generate_subscripts(run_ids, 1) AS n;
  IF moved = '{}' THEN
    RETURN moved;
  END IF;

  INSERT INTO log (run_id, sequence, at, events)
  SELECT g.run_id, g.expected, g.at, g.events
  FROM unnest(run_ids, expecteds, ats, logs) WITH ORDINALITY AS g(run_id, expected, at, events, n)
  WHERE ok[g.n::int];

  IF new_of <> '{}' THEN
    INSERT INTO interrupts
      (interrupt_id, run_id, node_id, key, kind, status, version, deadline, progress)
    SELECT g.id, run_ids[g.n], g.node, g.key, g.kind, g.status, g.version, g.deadline, g.progress
    FROM unnest(new_of, new_ids, nodes, keys, kinds, new_statuses, new_versions, deadlines,
                new_progresses) AS g(n, id, node, key, kind, status, version, deadline, progress)
    WHERE ok[g.n] ORDER BY g.id;
    INSERT INTO asked (interrupt_id, body)
    SELECT g.id, g.body FROM unnest(new_of, new_ids, askeds) AS g(n, id, body) WHERE ok[g.n];
  END IF;

  IF old_of <> '{}' THEN
    UPDATE interrupts SET status = g.status, version = g.version, progress = g.progress
    FROM unnest(old_of, old_ids, old_statuses, old_versions, old_progresses)
      AS g(n, id, status, version, progress)
    WHERE ok[g.n] AND interrupt_id = g.id;
    IF true = ANY (old_notifies) THEN
      UPDATE messages SET wanted = g.version, due_at = coalesce(due_at, ats[g.n])
      FROM unnest(old_of, old_ids, old_versions, old_notifies) AS g(n, id, version, notify)
      WHERE ok[g.n] AND g.notify AND interrupt_id = g.id;
    END IF;
  END IF;

  IF message_of <> '{}' THEN
    INSERT INTO messages (interrupt_id, channel, address, tenant, thread, wanted, due_at)
    SELECT g.id, g.channel, g.address, split_part(run_ids[g.n], '/', 1), g.thread, 1, ats[g.n]
    FROM unnest(message_of, message_ids, channels, addresses, threads)
      AS g(n, id, channel, address, thread)
    WHERE ok[g.n] ORDER BY g.id, g.channel, g.address
    ON CONFLICT DO NOTHING;
  END IF;

  IF talk_of <> '{}' THEN
    -- One that is opened must be new: its name is taken for good, by whichever run is first.
    INSERT INTO conversations (tenant, conversation_id, body)
    SELECT g.tenant, g.id, g.body
    FROM unnest(talk_of, talk_tenants, talk_ids, talk_bodies, talk_opens)
      AS g(n, tenant, id, body, opens)
    WHERE ok[g.n] AND g.opens ORDER BY g.tenant, g.id;
    UPDATE conversations SET body = g.body
    FROM unnest(talk_of, talk_tenants, talk_ids, talk_bodies, talk_opens)
      AS g(n, tenant, id, body, opens)
    WHERE ok[g.n] AND NOT g.opens AND conversations.tenant = g.tenant AND conversation_id = g.id;
  END IF;

  IF reply_of <> '{}' THEN
    INSERT INTO replies (scope, digest, status, body, at)
    SELECT g.scope, g.digest, g.status, g.body, ats[g.n]
    FROM unnest(reply_of, scopes, digests, reply_statuses, reply_bodies)
      AS g(n, scope, digest, status, body)
    WHERE ok[g.n] ORDER BY g.scope;
  END IF;

  IF wait_of <> '{}' THEN
    DELETE FROM waits USING unnest(wait_of, wait_keys, wait_ids, wait_opens) AS g(n, key, id, opens)
    WHERE ok[g.n] AND NOT g.opens AND match_key = g.key AND interrupt_id = g.id;
    -- Before a look at the shelf, the lock that `sayso_shelve` takes too: see there.
    PERFORM pg_advisory_xact_lock(1396790879, h) FROM (
      SELECT DISTINCT hashtext(g.key) AS h
      FROM unnest(wait_of, wait_keys, wait_opens) AS g(n, key, opens)
      WHERE ok[g.n] AND g.opens ORDER BY h) AS sorted;
    INSERT INTO waits (match_key, interrupt_id)
    SELECT g.key, g.id FROM unnest(wait_of, wait_keys, wait_ids, wait_opens) AS g(n, key, id, opens)
    WHERE ok[g.n] AND g.opens ON CONFLICT DO NOTHING;
    UPDATE shelf SET state = 'due', leased_until = 0
    WHERE state = 'shelved' AND match_key = ANY (ARRAY(
      SELECT g.key FROM unnest(wait_of, wait_keys, wait_opens) AS g(n, key, opens)
      WHERE ok[g.n] AND g.opens));
  END IF;

  RETURN moved;
END $$;

-- Put an event on the shelf unless somebody waits for it. Under READ COMMITTED alone this could miss a wait
-- that is being registered: neither transaction sees what the other has not committed yet, so the event
-- would be shelved just after the wait looked at the shelf. Therefore both sides first take one lock by
-- their match key and look afterwards. Each statement of a function sees all that was committed before that
-- statement began, and a lock is given up only after its transaction can be seen: whoever comes second sees
-- the first. (Two keys with one hash only wait for each other.)
--
-- Only an event that is still due is shelved: another replica may have applied it meanwhile.
CREATE FUNCTION sayso_shelve(the_source text, the_event text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1396790879, hashtext(match_key)) FROM shelf
  WHERE source = the_source AND event_id = the_event AND match_key IS NOT NULL;
  UPDATE shelf SET state = 'shelved', leased_until = 0, owner = ''
  WHERE source = the_source AND event_id = the_event AND state = 'due'
    AND NOT EXISTS (SELECT FROM waits WHERE waits.match_key = shelf.match_key);
  RETURN FOUND;
END $$;
