/**
 * What every record in the database has besides its own members.
 *
 * @module
 */

/** Every record that ends. `expiresAt` is in epoch seconds. */
export interface Expiring {
  expiresAt: number;
}

/** Written into every record as `v`. */
export const RECORD_VERSION = 1;

/** What a record has in the database and a store does not see. */
export interface Marked {
  v?: number;
  /** Of the transaction that wrote it. */
  mark?: string;
}

/**
 * How a record of version `n` becomes one of version `n + 1`, by the first
 * part of its key: the `n`th function. Records without `v` are of version 0.
 * A process that has not been updated yet still reads newer records, so a
 * change keeps what the version before needs. What the last release wrote is in
 * `tests/upgrade/`.
 */
const UPGRADES: Readonly<
  // deno-lint-ignore no-explicit-any -- what another version wrote
  Record<string, readonly ((older: any) => unknown)[]>
> = {
  // An attempt was not counted, and a stranger's was like any other.
  attempts: [({ attempts, ...rest }) => ({
    ...rest,
    attempts: attempts.map((attempt: object) => ({
      isStranger: false,
      count: 1,
      ...attempt,
    })),
  })],
  // Each bucket was a record of its own; they are in memory now.
  rate: [({ expiresAt }) => ({ taken: {}, expiresAt })],
  text: [(text) => ({ text, expiresAt: Infinity })],
};

/** A record as a store wrote it; undefined when it has expired. */
export function readRecord<T>(
  [kind]: Deno.KvKey,
  value: unknown,
  now: number,
): T | undefined {
  const { v = 0 } = value as { v?: number };
  const steps = UPGRADES[kind as string]?.slice(v) ?? [];
  const record = steps.reduce((older, step) => step(older), value);
  if (!isExpiring(record)) return record as T;
  if (record.expiresAt <= now) return undefined;
  const { v: _version, mark: _mark, ...own } = record;
  return own as T;
}

/** Shared secrets and heads never end. */
function isExpiring(value: unknown): value is Expiring & Marked {
  return typeof value === "object" && value !== null && "expiresAt" in value;
}
