/**
 * The shapes of all records that the walks write, and a sealed text of each kind
 * that lives long, pinned in `layout.json` for the number of this layout.
 * Without this, a release could write what another of its number cannot read.
 *
 * A failure means that a shape or a seal has changed. If the last release cannot
 * read the new one, or this release not the old one, raise {@linkcode LAYOUT}.
 * Then pin it: `deno test -A --config tests/deno.json THIS_FILE -- --write`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { keyRing, seal, unseal } from "../../src/core/crypto/crypto.ts";
import { Database } from "../../src/core/kv/database.ts";
import * as keys from "../../src/core/kv/keys.ts";
import { LAYOUT } from "../../src/core/kv/layout.ts";
import { memoryKv } from "../../src/core/kv/memory_kv.ts";
import {
  makeExchange,
  replayResponse,
  unwrapDataKey,
  wrapDataKey,
} from "../../src/core/oauth/refresh_token.ts";
import {
  sealClient,
  unsealClient,
} from "../../src/core/oauth/sealed_client.ts";
import {
  openRequestState,
  sealRequestState,
} from "../../src/core/protocol/input_rounds.ts";
import { accountSeals } from "../../src/features/accounts/accounts.ts";
import { waitSeals } from "../../src/features/questions/wait_record.ts";
import { openTestKv } from "../kit/databases.ts";
import { SECRETS_KEY } from "../kit/key_service.ts";
import { kvWith } from "../kit/kv.ts";
import { newClient } from "../kit/records.ts";
import type { Surroundings } from "./processes.ts";
import {
  walkDocumentSignIn,
  walkProviderRefresh,
  walkSession,
  walkSignIn,
} from "./walk.ts";
import { walkAccount } from "./walk_account.ts";
import { walkAccounts } from "./walk_accounts.ts";
import { walkApprovals } from "./walk_approvals.ts";
import { walkAssertions, walkMemberships } from "./walk_proofs.ts";
import { walkTokens, walkWaits, writeRest } from "./walk_rest.ts";
import { walkSteps } from "./walk_steps.ts";
import { walkTasks } from "./walk_tasks.ts";
import { walkWork } from "./walk_work.ts";

const PINNED = new URL("layout.json", import.meta.url);

interface Pinned {
  layout: number;
  seals: Record<string, string>;
  shapes: string[];
}

const WALKS = [
  walkSignIn,
  walkDocumentSignIn,
  walkProviderRefresh,
  (it: Surroundings) => walkSession("none", it),
  walkAccount,
  walkAccounts,
  walkApprovals,
  walkAssertions,
  walkMemberships,
  walkSteps,
  walkTasks,
  walkWork,
  walkTokens,
  walkWaits,
  writeRest,
];

/** Records that no walk writes: of moves, of checks, and of what was given up. */
const UNWALKED = [
  "fence",
  "given-up",
  "mcp-client",
  "moving",
  "probe",
  "reachability",
  "repeat",
];

/** Walks before a shape is missing: some are written in the background. */
const ATTEMPTS = 10;

/** Describes a text by its form: a seal, a hash, or any. */
function formOf(text: string): string {
  const [header, key, ...rest] = text.split(".");
  if (rest.length === 3 && key === "") {
    const { kid, ...algorithms } = JSON.parse(atob(header));
    return Object.values({ ...algorithms, ...kid && { kid: "kid" } }).join(" ");
  }
  return /^[\w-]{43}$/.test(text) ? "43 characters" : "string";
}

/** Adds the path and the type of each member of a value. */
function describe(shapes: Set<string>, path: string, value: unknown): void {
  if (typeof value === "string") shapes.add(`${path}: ${formOf(value)}`);
  else if (Array.isArray(value)) {
    for (const element of value) describe(shapes, `${path}[]`, element);
  } else if (value?.constructor === Object) {
    for (const [name, member] of Object.entries(value)) {
      describe(shapes, `${path}.${name}`, member);
    }
  } else if (value !== undefined) {
    shapes.add(`${path}: ${value?.constructor.name.toLowerCase()}`);
  }
}

/** Walks once, and adds the shapes of all that is written. */
async function walkAll(shapes: Set<string>): Promise<void> {
  for (const walk of WALKS) {
    await using real = await openTestKv();
    const kv = kvWith(real, {
      atomic() {
        const operation = real.atomic();
        const set = operation.set.bind(operation);
        operation.set = (key, value, options) => {
          const [kind, ...parts] = key;
          const forms = parts.map((part) =>
            typeof part === "string" ? formOf(part) : typeof part
          );
          describe(shapes, [kind, ...forms].join("/"), value);
          return set(key, value, options);
        };
        return operation;
      },
    });
    await walk({
      kv,
      isCold: false,
      uncounted: (action) => action(),
      step: (_name, action) => action(),
    });
  }
}

const KEY = new Uint8Array(32).fill(7);
const TOKENS = {
  accessToken: "a",
  tokenType: "Bearer",
  scopes: [],
  expiresAt: 9,
};
const STATE = { answered: {}, asked: {}, expiresAt: 9 };
const BINDING = { caller: "ada", method: "tools/call", params: { name: "t" } };
const WAIT = { subject: "ada", kind: "page" as const, askerKey: ["asker"] };
const ACCOUNT = {
  ...{ subject: "ada", service: "crm", label: "ada@acme", accountId: "7" },
  ...{ oauth: { application: "app" }, createdAt: 1, expiresAt: 9 },
};
const ACCOUNT_KEY = keys.accountKey("ada", "1");
const account = accountSeals(keyRing([SECRETS_KEY]));

/** Opens a database in which the key that seals waits is known. */
async function sealedDatabase(): Promise<Database> {
  const database = new Database(memoryKv());
  await database.commit((transaction) =>
    transaction.setForever(keys.secretKey("wait"), KEY)
  );
  return database;
}

/** Seals something as the server does, or opens it. */
const SEALS: Record<string, {
  seal(): Promise<string>;
  /** Gives what was sealed, or a part of it. */
  open(sealed: string): Promise<unknown>;
  gives: unknown;
}> = {
  "any text": {
    seal: () => seal(KEY, "text", "context"),
    open: (sealed) => unseal(KEY, sealed, "context"),
    gives: "text",
  },
  "a registration": {
    seal: async () => (await sealClient(KEY, newClient())).clientId,
    open: async (id) => (await unsealClient(KEY, id))?.metadata.redirect_uris,
    gives: newClient().metadata.redirect_uris,
  },
  "the data key of a grant": {
    seal: () => wrapDataKey(KEY, "grant", "credential"),
    open: (sealed) => unwrapDataKey(sealed, "grant", "credential"),
    gives: KEY,
  },
  "the answer to a refresh": {
    seal: async () => (await makeExchange("refresh", TOKENS, "grant")).response,
    open: (response) =>
      replayResponse("refresh", {
        id: "grant",
        refreshTokens: {
          current: "",
          wrappedKey: "",
          exchange: { refreshToken: "", accessToken: "", response },
        },
      }),
    gives: TOKENS,
  },
  "a request state": {
    seal: () => sealRequestState(KEY, STATE, BINDING),
    open: async (sealed) =>
      (await openRequestState(KEY, sealed, BINDING, 1)).expiresAt,
    gives: 9,
  },
  "a wait": {
    seal: async () =>
      waitSeals(await sealedDatabase())
        .sealPart(WAIT, keys.waitKey("id"), "payload", { id: "id" }),
    open: async (sealed) =>
      waitSeals(await sealedDatabase())
        .openPart({
          key: keys.waitKey("id"),
          value: { ...WAIT, sealed } as never,
        }, "payload"),
    gives: { id: "id" },
  },
  "the tokens of an account": {
    seal: async () =>
      JSON.stringify(
        await account.sealAnew({
          key: ACCOUNT_KEY,
          value: { ...ACCOUNT, sealed: "", keyId: "" },
        }, "tokens"),
      ),
    open: async (text) => {
      const value = JSON.parse(text);
      const { sealed, keyId } = value;
      return [
        await account.open({ key: ACCOUNT_KEY, value }),
        await account.openTokens({ application: "app", sealed, keyId }),
      ];
    },
    gives: ["tokens", {
      tokens: "tokens",
      account: { label: "ada@acme", accountId: "7" },
    }],
  },
};

async function readPinned(): Promise<Pinned> {
  return JSON.parse(await Deno.readTextFile(PINNED));
}

if (Deno.args.includes("--write")) {
  const shapes = new Set<string>();
  for (let count = 0; count < 3; count++) await walkAll(shapes);
  const seals: Record<string, string> = {};
  for (const [kind, { seal }] of Object.entries(SEALS)) {
    seals[kind] = await seal();
  }
  const pinned = { layout: LAYOUT, seals, shapes: [...shapes].sort() };
  await Deno.writeTextFile(PINNED, JSON.stringify(pinned, null, 2) + "\n");
}

Deno.test("records have the shapes that are pinned for this layout, or its number is raised", async () => {
  const pinned = await readPinned();
  assert.equal(pinned.layout, LAYOUT, "Pin the shapes of the new layout");
  const shapes = new Set<string>();
  const missing = () => pinned.shapes.filter((shape) => !shapes.has(shape));
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await walkAll(shapes);
    if (missing().length === 0) break;
  }
  const added = shapes.difference(new Set(pinned.shapes));
  assert.deepEqual({ added: [...added], missing: missing() }, {
    added: [],
    missing: [],
  });
});

Deno.test("the pinned shapes are of every kind of record", async () => {
  const { shapes } = await readPinned();
  const kinds = new Set(shapes.map((shape) => /^[a-z-]+/.exec(shape)![0]));
  const words = Object.entries(keys)
    .filter(([name]) => name.endsWith("Key") && name !== "personKey")
    .map(([, make]) =>
      (make as (...parts: string[]) => Deno.KvKey)("", "", "")[0] as string
    );
  const left = new Set(words).difference(kinds);
  assert.deepEqual([...left].sort(), UNWALKED);
});

for (const [kind, { open, gives }] of Object.entries(SEALS)) {
  Deno.test(`a pinned seal still opens: ${kind}`, async () => {
    assert.deepEqual(await open((await readPinned()).seals[kind]), gives);
  });
}
