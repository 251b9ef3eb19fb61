/**
 * Databases that someone could write who knows the verbs of the contract and not
 * its promises. Each is right but for one thing.
 *
 * @module
 */
import type {
  Kv,
  KvAtomic,
  KvCheck,
  KvCommit,
  KvEntryMaybe,
  KvKey,
} from "../../../src/core/kv/kv.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";

/** A part of a commit. */
interface Write {
  key: KvKey;
  value?: unknown;
  expireIn?: number;
  isDeletion: boolean;
}

/** A commit before it is sent. */
interface Parts {
  checks: KvCheck[];
  writes: Write[];
}

type Send = (parts: Parts) => Promise<KvCommit>;

/** Makes a handle like another, whose commits are sent in another way. */
function withCommits(kv: Kv, send: Send): Kv {
  return {
    ...delegate(kv),
    atomic() {
      const parts: Parts = { checks: [], writes: [] };
      const atomic: KvAtomic = {
        check(...checks) {
          parts.checks.push(...checks);
          return atomic;
        },
        set(key, value, { expireIn } = {}) {
          parts.writes.push({ key, value, expireIn, isDeletion: false });
          return atomic;
        },
        delete(key) {
          parts.writes.push({ key, isDeletion: true });
          return atomic;
        },
        commit: () => send(parts),
      };
      return atomic;
    },
  };
}

function delegate(kv: Kv): Kv {
  return {
    get: (key) => kv.get(key),
    getMany: (keys) => kv.getMany(keys),
    list: (selector, options) => kv.list(selector, options),
    atomic: () => kv.atomic(),
    watch: (keys) => kv.watch(keys),
    close: () => kv.close(),
  };
}

function send(kv: Kv, { checks, writes }: Parts): Promise<KvCommit> {
  const atomic = kv.atomic().check(...checks);
  for (const { key, value, expireIn, isDeletion } of writes) {
    if (isDeletion) atomic.delete(key);
    else atomic.set(key, value, { expireIn });
  }
  return atomic.commit();
}

/** Lets everything else have its turn, as one that waits for a lock would. */
function wait(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}

const isWritten = (writes: readonly Write[], { key }: KvCheck) =>
  writes.some((write) => String(write.key) === String(key));

/** The checks of keys that a commit does not write are made before it waits. */
function withoutFence(): Kv {
  const kv = memoryKv();
  return withCommits(kv, async ({ checks, writes }) => {
    const early = checks.filter((check) => !isWritten(writes, check));
    if (early.length === 0) return await send(kv, { checks, writes });
    const first = await send(kv, { checks: early, writes: [] });
    if (!first.ok) return first;
    await wait();
    const late = checks.filter((check) => isWritten(writes, check));
    return await send(kv, { checks: late, writes });
  });
}

function lastWriteWins(): Kv {
  const kv = memoryKv();
  return withCommits(kv, ({ writes }) => send(kv, { checks: [], writes }));
}

/** Reads hide what has expired; checks still count it. */
function expiryInReads(): Kv {
  const kv = memoryKv();
  const ends = new Map<string, number>();
  const hide = (entry: KvEntryMaybe): KvEntryMaybe =>
    Date.now() < (ends.get(String(entry.key)) ?? Infinity)
      ? entry
      : { key: entry.key, value: null, versionstamp: null };
  const written = withCommits(kv, async ({ checks, writes }) => {
    const lasting = writes.map(({ expireIn: _, ...write }) => write);
    const answer = await send(kv, { checks, writes: lasting });
    for (const { key, expireIn = Infinity } of answer.ok ? writes : []) {
      ends.set(String(key), Date.now() + expireIn);
    }
    return answer;
  });
  return {
    ...written,
    get: async (key) => hide(await kv.get(key)),
    getMany: async (keys) => (await kv.getMany(keys)).map(hide),
  };
}

/** A version is the number of a record's changes since it was made. */
function versionsReused(): Kv {
  const kv = memoryKv();
  const numbers = new Map<string, { real: string; number: number }>();
  const shown = (entry: KvEntryMaybe): KvEntryMaybe => {
    const version = numbers.get(String(entry.key));
    return entry.versionstamp === null || !version
      ? entry
      : { ...entry, versionstamp: String(version.number) };
  };
  const written = withCommits(kv, async ({ checks, writes }) => {
    const real = checks.map(({ key, versionstamp }) => {
      const version = numbers.get(String(key));
      const isSame = versionstamp === String(version?.number);
      return { key, versionstamp: isSame ? version!.real : versionstamp };
    });
    const answer = await send(kv, { checks: real, writes });
    if (!answer.ok) return answer;
    let versionstamp = "0";
    for (const { key, isDeletion } of writes) {
      const name = String(key);
      const number = (numbers.get(name)?.number ?? 0) + 1;
      versionstamp = String(number);
      if (isDeletion) numbers.delete(name);
      else numbers.set(name, { real: answer.versionstamp, number });
    }
    return { ok: true, versionstamp };
  });
  return {
    ...written,
    get: async (key) => shown(await kv.get(key)),
    getMany: async (keys) => (await kv.getMany(keys)).map(shown),
  };
}

/** Keys are ordered as JavaScript orders texts. */
function unordered(): Kv {
  const kv = memoryKv();
  return {
    ...delegate(kv),
    async *list(selector, { limit } = {}) {
      const entries = await Array.fromAsync(kv.list(selector));
      const byText = (a: { key: KvKey }, b: { key: KvKey }) =>
        String(a.key) < String(b.key) ? -1 : 1;
      yield* entries.toSorted(byText).slice(0, limit);
    },
  };
}

/** Checks of keys that a commit does not write are left out. */
function absenceIgnored(): Kv {
  const kv = memoryKv();
  return withCommits(kv, ({ checks, writes }) =>
    send(kv, {
      checks: checks.filter((check) =>
        check.versionstamp !== null || isWritten(writes, check)
      ),
      writes,
    }));
}

/** Every third answer is lost on its way, and its commit sent again. */
function answersLost(): Kv {
  const kv = memoryKv();
  let commits = 0;
  return withCommits(kv, async (parts) => {
    const answer = await send(kv, parts);
    return ++commits % 3 === 1 ? await send(kv, parts) : answer;
  });
}

/** Makers of naive databases, each with the name of a promise it breaks. */
export const NAIVE: Record<string, { make: () => Kv; breaks: string }> = {
  "no fence": {
    make: withoutFence,
    breaks: "no commit is carried out after the acknowledged write of a key " +
      "whose absence it checks",
  },
  "a last write that wins": {
    make: lastWriteWins,
    breaks: "commit() loses no change of those that read first and check",
  },
  "expiry filtered in reads": {
    make: expiryInReads,
    breaks:
      "an expired record is there for reads and checks alike, or for neither",
  },
  "versions reused": {
    make: versionsReused,
    breaks: "commit() never uses a version twice, also of a deleted record",
  },
  "lists unordered": {
    make: unordered,
    breaks: "list() gives what is beneath a prefix, in the order of keys",
  },
  "absent checks ignored": {
    make: absenceIgnored,
    breaks: "commit() checks the absence of keys that it does not write",
  },
  "answers lost": {
    make: answersLost,
    breaks: "commit() lets one of fifty at once through, and tells that one so",
  },
};
