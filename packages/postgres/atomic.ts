/**
 * A commit, packed for one round trip.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import type {
  KvAtomic,
  KvCheck,
  KvCommit,
  KvKey,
} from "../../src/core/kv/kv.ts";
import {
  checkCommitSize,
  checkWrite,
  cloneBytes,
} from "../../src/core/kv/kv_limits.ts";
import { binaryArray, bool, int8 } from "./binary_array.ts";
import { packBytes } from "./packed_key.ts";

/** The first byte of a value, for its format: V8's serialization. */
const V8_FORMAT = Buffer.of(1);

/** The digits of a version; all versions have the same length. */
const VERSION_DIGITS = 16;

/**
 * The maximum lifetime: a hundred years. A record with a longer lifetime never
 * expires.
 */
const MAX_EXPIRY_MILLISECONDS = 100 * 365 * 24 * 60 * 60 * 1000;

/** A write; without `bytes`, a deletion. */
interface Mutation {
  key: KvKey;
  bytes?: Uint8Array;
  expireIn?: number;
}

export interface PackedCommit {
  /** The arguments of `kv_commit`. */
  values: Buffer[];
  /** The hashes of the keys whose changes are announced to other processes. */
  announced: ReadonlySet<string>;
}

/** Returns the number by which a key is locked and named in notifications. */
export function keyHash(packed: Uint8Array): bigint {
  return createHash("sha256").update(packed).digest().readBigInt64BE(0);
}

/** Formats a version in 16 hexadecimal digits. */
export function printVersion(version: string): string {
  return BigInt(version).toString(16).padStart(VERSION_DIGITS, "0");
}

/**
 * Parses a version. A version of another database becomes -1, which no record
 * has.
 */
function parseVersion(versionstamp: string | null): bigint | null {
  if (versionstamp === null) return null;
  const isOurs = versionstamp.length === VERSION_DIGITS &&
    /^[0-7][0-9a-f]*$/.test(versionstamp);
  return isOurs ? BigInt(`0x${versionstamp}`) : -1n;
}

/** Checks and writes that are sent together. */
export class Atomic implements KvAtomic {
  readonly #checks: KvCheck[] = [];
  readonly #mutations: Mutation[] = [];

  constructor(
    private readonly send: (commit: PackedCommit) => Promise<KvCommit>,
    private readonly isAnnounced: (key: KvKey) => boolean,
  ) {}

  check(...checks: KvCheck[]): this {
    this.#checks.push(...checks);
    return this;
  }

  set(
    key: KvKey,
    value: unknown,
    { expireIn }: { expireIn?: number } = {},
  ): this {
    this.#mutations.push({ key, bytes: cloneBytes(value), expireIn });
    return this;
  }

  delete(key: KvKey): this {
    this.#mutations.push({ key });
    return this;
  }

  async commit(): Promise<KvCommit> {
    return await this.send(this.#pack());
  }

  /** @throws {import("../../src/core/kv/kv_error.ts").KvUsageError} */
  #pack(): PackedCommit {
    checkCommitSize(this.#checks, this.#mutations);
    const locks = new Map<bigint, boolean>();
    const announced = new Set<string>();
    const checkKeys = this.#checks.map(({ key }) => packBytes(key));
    for (const packed of checkKeys) locks.set(keyHash(packed), false);
    const writeKeys = this.#mutations.map(({ key }) => packBytes(key));
    for (const [index, packed] of writeKeys.entries()) {
      const hash = keyHash(packed);
      locks.set(hash, true);
      if (this.isAnnounced(this.#mutations[index].key)) {
        announced.add(String(hash));
      }
    }
    const sorted = [...locks].sort(([a], [b]) => a < b ? -1 : 1);
    const values = this.#mutations.map(({ bytes, expireIn }) => {
      if (bytes === undefined) return null;
      checkWrite(bytes, expireIn);
      return Buffer.concat([V8_FORMAT, bytes]);
    });
    const expiries = this.#mutations.map(({ expireIn }) =>
      expireIn === undefined || expireIn > MAX_EXPIRY_MILLISECONDS
        ? null
        : int8(BigInt(Math.ceil(expireIn)))
    );
    const versions = this.#checks.map(({ versionstamp }) => {
      const version = parseVersion(versionstamp);
      return version === null ? null : int8(version);
    });
    return {
      values: [
        binaryArray("int8", sorted.map(([hash]) => int8(hash))),
        binaryArray("bool", sorted.map(([, isExclusive]) => bool(isExclusive))),
        binaryArray("bytea", checkKeys),
        binaryArray("int8", versions),
        binaryArray("bytea", writeKeys),
        binaryArray("bytea", values),
        binaryArray("int8", expiries),
        binaryArray("text", [...announced].map((hash) => Buffer.from(hash))),
      ],
      announced,
    };
  }
}
