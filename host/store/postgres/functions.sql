-- A time (ms) that is not to be waited for longer than it was meant: a replica whose clock is ahead writes times
-- that for everybody else are still to come, and nobody would send before them. The database's clock is one for
-- all. NULL (never) stays NULL.
CREATE FUNCTION sayso_by_now(at bigint, later bigint DEFAULT 0) RETURNS bigint LANGUAGE sql VOLATILE STRICT AS $$
  SELECT least(at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + later)
$$;

-- Many commits in one statement. Each array of the first family has one element a commit; the others name
-- the commit that they belong to by its position (`…_of`, from 1). Answers with the positions of those
-- commits that found their run at the expected version; the others left nothing behind.
--
-- A unique index that refuses a row undoes the statement, and the caller sends the commits again in smaller
-- groups until the one that is to blame stands alone. So every commit is done wholly or not at all.
--
-- A position is the transaction's id and the commit's place in it. Ids are given out in order and end in any
-- order; whoever follows the log reads only below the oldest id that is still at work, and so nothing ever
-- appears behind what was read. (A sequence would not do: it is drawn later than the id.)
--
-- Rows are locked family by family, and within a family in the order of their ids (the caller sorts the
-- runs, each statement below sorts the rest), so two processes that append at once wait for each other in
-- one direction only.
CREATE FUNCTION sayso_append(
  run_ids text[], expecteds bigint[], versions bigint[], wakes bigint[], heads bytea[], ats bigint[],
  logs bytea[],
  new_of int[], new_ids text[], nodes text[], keys text[], kinds text[], new_statuses text[],
  new_versions bigint[], deadlines bigint[], new_progresses bytea[], askeds bytea[],
  old_of int[], old_ids text[], old_statuses text[], old_versions bigint[], old_progresses bytea[],
  old_notifies boolean[],
  wait_of int[], wait_keys text[], wait_ids text[], wait_opens boolean[],
  message_of int[], message_ids text[], channels text[], addresses text[], threads text[],
  talk_of int[], talk_tenants text[], talk_ids text[], talk_bodies bytea[], talk_opens boolean[],
  event_of int[], event_sequences bigint[], event_types text[],
  tag_of int[], run_tags text[],
  reply_of int[], scopes text[], digests text[], reply_statuses int[], reply_bodies bytea[]
) RETURNS int[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
-- So no argument may be called like a column of the tables that are used with it.
DECLARE
  moved int[];
  ok boolean[];
  first bigint;
BEGIN
  WITH done AS (
    UPDATE runs SET version = g.version, wake_at = g.wake_at, head = g.head
    FROM unnest(run_ids, expecteds, versions, wakes, heads)
      WITH ORDINALITY AS g(run_id, expected, version, wake_at, head, n)
    WHERE g.expected > 0 AND runs.run_id = g.run_id AND runs.version = g.expected
    RETURNING g.n::int AS n
  ) SELECT coalesce(array_agg(n), '{}') INTO moved FROM done;

  IF 0 = ANY (expecteds) THEN
    INSERT INTO runs (run_id, version, wake_at, head)
    SELECT g.run_id, g.version, g.wake_at, g.head
    FROM unnest(run_ids, expecteds, versions, wakes, heads)
      AS g(run_id, expected, version, wake_at, head)
    WHERE g.expected = 0 ORDER BY g.run_id;
  END IF;

  SELECT array_agg(expecteds[n] = 0 OR n = ANY (moved) ORDER BY n),
         coalesce(array_agg(n) FILTER (WHERE expecteds[n] = 0 OR n = ANY (moved)), '{}')
  INTO ok, moved FROM generate_subscripts(run_ids, 1) AS n;
  IF moved = '{}' THEN
    RETURN moved;
  END IF;

  first := (SELECT base FROM log_base) + pg_current_xact_id()::text::bigint * 1024;
  INSERT INTO log (run_id, sequence, at, events, position)
  SELECT g.run_id, g.expected, g.at, g.events, first + g.n
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
      UPDATE messages SET wanted = g.version, due_at = coalesce(due_at, sayso_by_now(ats[g.n]))
      FROM unnest(old_of, old_ids, old_versions, old_notifies) AS g(n, id, version, notify)
      WHERE ok[g.n] AND g.notify AND interrupt_id = g.id;
    END IF;
  END IF;

  IF message_of <> '{}' THEN
    INSERT INTO messages (interrupt_id, channel, address, tenant, thread, wanted, due_at)
    SELECT g.id, g.channel, g.address, split_part(run_ids[g.n], '/', 1), g.thread, 1,
           sayso_by_now(ats[g.n])
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
    INSERT INTO conversations (tenant, conversation_id, body)
    SELECT g.tenant, g.id, g.body
    FROM unnest(talk_of, talk_tenants, talk_ids, talk_bodies, talk_opens)
      AS g(n, tenant, id, body, opens)
    WHERE ok[g.n] AND NOT g.opens ORDER BY g.tenant, g.id
    ON CONFLICT (tenant, conversation_id) DO UPDATE SET body = excluded.body;
  END IF;

  -- What `host.store.webhooks.owed` says, in SQL: a list of subscriptions that was read before might miss
  -- one that was added since, and reading it first would cost every append a round trip.
  IF EXISTS (SELECT FROM subscriptions WHERE disabled = '') THEN
    INSERT INTO outbox (delivery_id, webhook_id, run_id, sequence, event_type, due_at)
    SELECT s.tenant || '/' || left(encode(sha256(
             convert_to(s.webhook_id, 'UTF8') || '\x00' || convert_to(run_ids[g.n], 'UTF8')
             || '\x00' || convert_to(g.sequence::text, 'UTF8')), 'hex'), 32),
           s.webhook_id, run_ids[g.n], g.sequence, g.type, ats[g.n]
    FROM unnest(event_of, event_sequences, event_types) AS g(n, sequence, type)
    JOIN subscriptions AS s ON s.tenant = split_part(run_ids[g.n], '/', 1) AND s.disabled = ''
    WHERE ok[g.n] AND g.type = ANY (s.events) AND (s.tags = '{}' OR EXISTS (
      SELECT FROM unnest(tag_of, run_tags) AS t(n, tag) WHERE t.n = g.n AND t.tag = ANY (s.tags)))
    ORDER BY s.webhook_id, run_ids[g.n], g.sequence;
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
