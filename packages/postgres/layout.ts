/**
 * The layout of the tables and functions in Postgres. The layout only grows,
 * because processes of the former release use it too: a release can be rolled
 * out, or back, one process at a time. A table or function that changes gets a
 * new name.
 *
 * @module
 */

/** The maximum number of keys that a commit locks one by one. */
export const MAX_LOCKS = 32;

/**
 * The steps from an empty database to the layout of this version. Released
 * steps never change.
 */
const STEPS: readonly ((schema: string) => string)[] = [tables];

/** The layout number that this version needs. */
export const LAYOUT = STEPS.length;

/**
 * Makes the SQL that creates the layout, or completes it, as one transaction.
 * If several processes do so at once, one does it, and the others wait.
 */
export function layoutSql(schema: string): string {
  const steps = STEPS.map((step, index) => `
  if reached < ${index + 1} then
    ${step(schema)}
    update ${schema}.kv_layout set number = ${index + 1};
  end if;`);
  return `do $layout$
declare reached int;
begin
  perform pg_advisory_xact_lock(hashtext('tool server layout'), 0);
  -- The right to make a schema is not needed where it is there. Read from the
  -- catalog: what a connection remembers may be older than the lock.
  if not exists (select from pg_namespace where nspname = '${schema}') then
    create schema ${schema};
  end if;
  -- The least number of a version that may use it is in "oldest".
  if not exists (
    select from pg_class where relname = 'kv_layout'
      and relnamespace = '${schema}'::regnamespace
  ) then
    create table ${schema}.kv_layout (number int not null, oldest int not null,
      id uuid not null default gen_random_uuid());
    insert into ${schema}.kv_layout values (0, 1);
  end if;
  select number into reached from ${schema}.kv_layout;${steps.join("")}
end
$layout$`;
}

/** Makes the statement that reads the properties of a database at the start. */
export function statusSql(schema: string): string {
  return `select
  current_setting('server_version_num')::int as version,
  pg_is_in_recovery() or current_setting('transaction_read_only')::bool
    as is_read_only,
  current_setting('statement_timeout') = '0' as is_endless,
  current_setting('synchronous_commit') = 'off'
    or current_setting('fsync') = 'off' as is_forgetful,
  current_setting('is_superuser')::bool as is_superuser,
  to_regclass('${schema}.kv_layout') is not null as has_layout`;
}

/**
 * Makes the statement that reads the layout number, and the rights that the
 * role lacks: `DELETE on tool_server.kv, …`.
 */
export function readLayoutSql(schema: string): string {
  const rights = [
    ...["SELECT", "INSERT", "UPDATE", "DELETE"].map((right) =>
      `('${right} on ${schema}.kv',
        has_table_privilege('${schema}.kv', '${right}'))`
    ),
    `('USAGE on sequence ${schema}.kv_version',
      has_sequence_privilege('${schema}.kv_version', 'USAGE'))`,
  ];
  return `select number, oldest, (
    select coalesce(string_agg(name, ', '), '')
    from (values ${rights.join(", ")}) as rights (name, is_granted)
    where not is_granted
  ) as lacks from ${schema}.kv_layout`;
}

/**
 * Makes the expression for the identity of the tables. Its first half changes
 * if tables are created again; a dump preserves its second half.
 */
export function identityOf(schema: string): string {
  return `(select '${schema}.kv'::regclass::oid::int || ' ' || id
  from ${schema}.kv_layout)`;
}

/** The code of a commit that fails because the tables were replaced. */
export const REPLACED_CODE = "TS001";

/** Returns the name of the channel for notifications of changes. */
export function channelOf(schema: string): string {
  return `${schema}.kv`;
}

/**
 * Makes the statement that marks the tables as in use by a process while its
 * listening connection lasts.
 */
export function presenceSql(schema: string): string {
  return `select pg_advisory_lock_shared(
    '${schema}.kv'::regclass::oid::int, ${PRESENCE_LOCK})`;
}

/** The second number of the advisory lock of {@linkcode presenceSql}. */
export const PRESENCE_LOCK = 2;

/** The tables and functions of the first layout. */
function tables(schema: string): string {
  return `
create table ${schema}.kv (
  key bytea primary key,
  value bytea not null,
  version bigint not null,
  expires_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.05,
        autovacuum_analyze_scale_factor = 0.05);
create index kv_expires_at on ${schema}.kv (expires_at)
  where expires_at is not null;
create sequence ${schema}.kv_version;

create function ${schema}.kv_commit(
  locks bigint[], exclusive boolean[],
  check_keys bytea[], check_versions bigint[],
  write_keys bytea[], write_values bytea[], expire_in bigint[],
  announced text[], tables int
) returns bigint language plpgsql
-- Whoever waits longer has given up.
set lock_timeout = '4s'
as $commit$
declare
  place int;
  seen bigint;
  written bigint;
  gate int := '${schema}.kv'::regclass::oid::int;
begin
  -- Each check must see what was committed while this waited for its locks.
  if current_setting('transaction_isolation') <> 'read committed' then
    raise 'kv_commit needs the isolation level read committed';
  end if;
  if gate <> tables then
    raise 'the tables are others by now' using errcode = '${REPLACED_CODE}';
  end if;
  -- A commit of very many keys locks all of them at once: the table of locks of
  -- a server is small.
  if cardinality(locks) > ${MAX_LOCKS} then
    perform pg_advisory_xact_lock(gate, 0);
  else
    perform pg_advisory_xact_lock_shared(gate, 0);
    -- In the same order everywhere, so that no two wait for each other.
    for place in 1 .. cardinality(locks) loop
      if exclusive[place] then
        perform pg_advisory_xact_lock(locks[place]);
      else
        perform pg_advisory_xact_lock_shared(locks[place]);
      end if;
    end loop;
  end if;
  for place in 1 .. cardinality(check_keys) loop
    select version into seen from ${schema}.kv where key = check_keys[place];
    if seen is distinct from check_versions[place] then
      return null;
    end if;
  end loop;
  -- The last digits differ if a standby gives a number again that the primary
  -- had given before it was lost.
  written := nextval('${schema}.kv_version') * 1048576
    + floor(random() * 1048576)::bigint;
  for place in 1 .. cardinality(write_keys) loop
    if write_values[place] is null then
      delete from ${schema}.kv where key = write_keys[place];
    else
      insert into ${schema}.kv as old (key, value, version, expires_at)
      values (
        write_keys[place], write_values[place], written,
        clock_timestamp() + expire_in[place] * interval '1 ms'
      )
      on conflict (key) do update set value = excluded.value,
        version = excluded.version, expires_at = excluded.expires_at;
    end if;
  end loop;
  for place in 1 .. cardinality(announced) loop
    perform pg_notify('${channelOf(schema)}', announced[place]);
  end loop;
  return written;
end
$commit$;

-- Deletes some of what has expired, in one process at a time.
create function ${schema}.kv_sweep(most int) returns int language plpgsql
as $sweep$
declare
  deleted int;
  gate int := '${schema}.kv'::regclass::oid::int;
begin
  if not pg_try_advisory_xact_lock(gate, 1) then
    return 0;
  end if;
  delete from ${schema}.kv where key = any (array(
    select key from ${schema}.kv where expires_at < clock_timestamp()
    order by expires_at limit most for update skip locked
  ));
  get diagnostics deleted = row_count;
  return deleted;
end
$sweep$;
`;
}
