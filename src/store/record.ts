/**
 * The members that every record in the database has besides its own.
 *
 * @module
 */

/** A record that ends. `expiresAt` is in epoch seconds. */
export interface Expiring {
  expiresAt: number;
}

/** The version written into every record as `v`. */
export const RECORD_VERSION = 1;

/** The members of a stored record that stores do not see. */
export interface Marked {
  v?: number;
  /** The mark of the transaction that wrote it. */
  mark?: string;
}

/**
 * The upgrades of records by the first part of their key: the `n`th function
 * makes version `n + 1` of version `n`. Records without `v` are of version 0. A
 * process that is not updated yet still reads newer records, so a change must
 * keep the members that the version before needs. The records of the last
 * release are in `tests/upgrade/`.
 */
const UPGRADES: Readonly<
  // deno-lint-ignore no-explicit-any -- what another version wrote
  Record<string, readonly ((older: any) => unknown)[]>
> = {
  // Attempts had no count, and did not mark strangers.
  attempts: [({ attempts, ...rest }) => ({
    ...rest,
    attempts: attempts.map((attempt: object) => ({
      isStranger: false,
      count: 1,
      ...attempt,
    })),
  })],
  text: [(text) => ({ text, expiresAt: Infinity })],
};

/** Reads a record as a store wrote it; undefined if it has expired. */
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

/** False for records that never end: shared secrets and heads. */
function isExpiring(value: unknown): value is Expiring & Marked {
  return typeof value === "object" && value !== null && "expiresAt" in value;
}
