import assert from "node:assert/strict";
import { createServer } from "../../src/server.ts";
import { IMPLEMENTATION } from "../kit/server.ts";
import { BREAKAGES, broken } from "./breakages.ts";
import { catalogue } from "./catalogue.ts";
import { DIFFERENCES } from "./differences.ts";
import {
  type Draft,
  DRAFTS,
  initializeRequest,
  requestOf,
  SESSION_REVISIONS,
} from "./messages.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import { Peer } from "./peer.ts";
import { randomNumbers } from "./random.ts";
import { SILENT } from "../kit/log.ts";

const SEED = 20260728;

/**
 * The number of random drafts, besides one of every method and one of every
 * breakage.
 */
const RANDOM_DRAFTS = 3000;

interface Server {
  fetch(request: Request): Response | Promise<Response>;
}

/** A server with the sessions that messages claim to belong to. */
class Subject {
  #server: Server;
  #open = new Map<string, string>();
  #ended = new Map<string, string>();

  constructor(server: Server) {
    this.#server = server;
  }

  async answer(draft: Draft): Promise<Outcome> {
    const request = requestOf(draft, await this.#sessionId(draft));
    return await outcomeOf(await this.#server.fetch(request), draft.verb);
  }

  async #sessionId({ session, revision, verb }: Draft) {
    const spoken = SESSION_REVISIONS.includes(revision)
      ? revision
      : "2025-11-25";
    switch (session) {
      case "none":
        return undefined;
      case "unknown":
        return "00000000-0000-0000-0000-000000000000";
      case "ended": {
        const id = this.#ended.get(spoken) ?? await this.#end(spoken);
        this.#ended.set(spoken, id);
        return id;
      }
      case "open": {
        if (verb === "DELETE") return await this.#initialize(spoken);
        const id = this.#open.get(spoken) ?? await this.#initialize(spoken);
        this.#open.set(spoken, id);
        return id;
      }
    }
  }

  async #initialize(revision: string): Promise<string> {
    const response = await this.#server.fetch(initializeRequest(revision));
    await response.body?.cancel();
    const id = response.headers.get("mcp-session-id");
    assert(id, `no session for ${revision}`);
    return id;
  }

  async #end(revision: string): Promise<string> {
    const id = await this.#initialize(revision);
    const draft = { ...DRAFTS[0](), revision, verb: "DELETE" };
    const response = await this.#server.fetch(requestOf(draft, id));
    await response.body?.cancel();
    return id;
  }
}

function* drafts(): Generator<Draft> {
  const random = randomNumbers(SEED);
  for (const make of DRAFTS) yield make();
  for (const { label, apply } of BREAKAGES) {
    const draft = broken(DRAFTS, 0, random);
    draft.label.push(label);
    apply(draft);
    yield draft;
  }
  for (let i = 0; i < RANDOM_DRAFTS; i++) {
    yield broken(DRAFTS, 1 + i % 3, random);
  }
}

Deno.test("the app answers as the SDK's own server does, intended differences aside", async () => {
  const kv = await Deno.openKv(":memory:");
  const app = createServer({
    ...IMPLEMENTATION,
    ...catalogue,
    kv,
    log: SILENT,
  });
  const peer = new Peer();
  try {
    const ours = new Subject(app);
    const theirs = new Subject(peer);
    const unlisted: string[] = [];
    const unused = new Set(DIFFERENCES);
    for (const draft of drafts()) {
      const here = await ours.answer(draft);
      const there = await theirs.answer(draft);
      if (here.status === there.status && here.answer === there.answer) {
        continue;
      }
      const known = DIFFERENCES.find(({ isOne }) => isOne(here, there, draft));
      if (known) unused.delete(known);
      else {
        unlisted.push(
          `${draft.label.join(" | ")}: ${here.status} ${here.answer}, ` +
            `the SDK ${there.status} ${there.answer}`,
        );
      }
    }
    assert.deepEqual(unlisted, []);
    assert.deepEqual([...unused].map(({ what }) => what), []);
  } finally {
    app.stop();
    await app.close();
    kv.close();
    await peer[Symbol.asyncDispose]();
  }
});
