/**
 * The time of each thing that a client does when every operation on the
 * database takes 10 ms more, as it does on a platform whose database is on
 * another machine, compared with the official SDK with its sessions in memory.
 *
 *     deno task bench latency
 *
 * `TEST_POSTGRES` (the address of a database) or `TEST_DENOKV` (the program)
 * measures on that, in place of a database in memory.
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";
import {
  inputRequired,
  inputResponse,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { CountingKv } from "../tests/kit/counting_kv.ts";
import { openTestKv } from "../tests/kit/databases.ts";
import type { Step, Steps, Surroundings } from "../tests/trips/processes.ts";
import {
  walkManyRefreshes,
  walkProviderRefresh,
  walkSession,
  walkSignIn,
  walkThroughSession,
} from "../tests/trips/walk.ts";
import { median, print, table } from "./statistics.ts";

const DELAY_MILLISECONDS = 10;
const ROUNDS = 7;
const REFRESHES = 60;

const COLUMNS = ["started anew", "going on", "official SDK"] as const;
type Column = typeof COLUMNS[number];

/** The milliseconds of every round, by title, step and column. */
class Times {
  readonly #taken = new Map<string, Record<Column, number[]>>();

  /** Measures the steps of a walk. */
  stepOf(title: string, column: Column): Step {
    return async (name, action) => {
      const started = performance.now();
      const value = await action();
      this.#of(`${title}: ${name}`)[column].push(performance.now() - started);
      return value;
    };
  }

  print(): string {
    const lines = [...this.#taken].map(([name, taken]) => [
      name,
      ...COLUMNS.map((column) =>
        taken[column].length === 0 ? "-" : print(median(taken[column]))
      ),
    ]);
    const head = `median of ${ROUNDS} rounds, ms`;
    return table([head, ...COLUMNS], lines);
  }

  #of(name: string): Record<Column, number[]> {
    let taken = this.#taken.get(name);
    if (!taken) {
      taken = { "started anew": [], "going on": [], "official SDK": [] };
      this.#taken.set(name, taken);
    }
    return taken;
  }
}

/** The SDK's server with the same tools; each session is a transport. */
class Sdk implements Steps {
  readonly #transports = new Map<
    string,
    WebStandardStreamableHTTPServerTransport
  >();

  constructor(readonly step: Step) {}

  as(name: string) {
    return {
      fetch: (path: string, init?: RequestInit) =>
        this.step(name, async () => {
          const request = new Request(`http://127.0.0.1:3000${path}`, init);
          const id = request.headers.get("mcp-session-id");
          const transport = id === null
            ? await this.#open()
            : this.#transports.get(id)!;
          return await transport.handleRequest(request);
        }),
    };
  }

  async #open(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void this.#transports.set(id, transport),
      onsessionclosed: (id) => void this.#transports.delete(id),
    });
    const server = new McpServer({ name: "peer", version: "1.0.0" });
    server.registerTool(
      "echo",
      { inputSchema: z.object({ text: z.string() }) },
      ({ text }) => ({ content: [{ type: "text", text }] }),
    );
    server.registerTool("confirm", {}, ({ mcpReq: { inputResponses } }) => {
      const answer = inputResponse(inputResponses, "really");
      if (answer.kind === "elicit") {
        return { content: [{ type: "text", text: answer.action }] };
      }
      const requestedSchema = z.object({});
      const really = inputRequired.elicit({
        message: "Really?",
        requestedSchema,
      });
      return inputRequired({ inputRequests: { really } });
    });
    await server.connect(transport);
    return transport;
  }
}

/** The walks, and the steps that are reported of each; all by default. */
const WALKS: readonly {
  title: string;
  walk(surroundings: Surroundings): Promise<void>;
  tells?: RegExp;
}[] = [
  { title: "sign-in", walk: walkSignIn },
  { title: "sign-in", walk: walkProviderRefresh, tells: /at the provider/ },
  {
    title: "sign-in",
    walk: (it) => walkManyRefreshes(REFRESHES, it),
    tells: /at once/,
  },
  { title: "session", walk: (it) => walkSession("none", it) },
  {
    title: "session, oauth",
    walk: (it) => walkSession("oauth", it),
    tells: /^(init|call$|next call|question|answer|elicit|end)/,
  },
];

async function main(): Promise<void> {
  const times = new Times();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { title, walk, tells } of WALKS) {
      for (const isCold of [true, false]) {
        await using real = await openTestKv();
        const { kv } = new CountingKv(real, DELAY_MILLISECONDS);
        const keep = times.stepOf(title, COLUMNS[isCold ? 0 : 1]);
        const step: Step = (name, action) =>
          tells && !tells.test(name) ? action() : keep(name, action);
        const uncounted: Surroundings["uncounted"] = (action) => action();
        await walk({ kv, step, uncounted, isCold });
      }
    }
    await walkThroughSession(new Sdk(times.stepOf("session", "official SDK")));
  }
  console.log(times.print());
}

if (import.meta.main) {
  answerHelp();
  await main();
}
