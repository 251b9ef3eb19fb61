/**
 * Records as they are stored, with the members that every one has besides its
 * own, and as they are read.
 *
 * @module
 */
import { withSubjectOfToday } from "../auth/rules/former_subject.ts";

/** A record that ends. `expiresAt` is in epoch seconds. */
export interface Expiring {
  expiresAt: number;
}

/**
 * The form of records, written into each as `v`: a version that changes them
 * tells by it what it reads. Processes of the last release read them too, so a
 * change must keep the members that it needs. Its records are in
 * `tests/upgrade/`.
 */
export const RECORD_VERSION = 1;

/** The members of a stored record that stores do not see. */
export interface Marked {
  v?: number;
  /** The mark of the transaction that wrote it. */
  mark?: string;
}

/** A read under a key, whose version counts even without a live value. */
export interface Entry<T> {
  key: Deno.KvKey;
  value: T | undefined;
  versionstamp: string | null;
  /** The mark of the commit that wrote it, if it has one. */
  mark?: string;
}

/** A live record and the version it was read at, for a later check. */
export interface Found<T> {
  key: Deno.KvKey;
  value: T;
  versionstamp: string;
  mark?: string;
}

/** Keys from `start` on, and before `end`. */
export interface KeyRange {
  start: Deno.KvKey;
  end: Deno.KvKey;
}

/** True if the entry has a live value. */
export function isFound<T>(entry: Entry<T>): entry is Found<T> {
  return entry.value !== undefined;
}

/** Reads a record as a store wrote it; undefined if it has expired. */
export function readRecord<T>(
  record: unknown,
  now: number,
): T | undefined {
  if (!isExpiring(record)) return record as T;
  if (record.expiresAt <= now) return undefined;
  const { v: _version, mark: _mark, ...own } = record;
  return (isPersons(own) ? withSubjectOfToday(own) : own) as T;
}

/** True for grants and account sessions, which say who their person is. */
function isPersons(
  record: object,
): record is Parameters<typeof withSubjectOfToday>[0] {
  return "subject" in record && "identity" in record;
}

/** False for records that never end: shared secrets and heads. */
function isExpiring(value: unknown): value is Expiring & Marked {
  return typeof value === "object" && value !== null && "expiresAt" in value;
}
