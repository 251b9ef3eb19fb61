/**
 * The processes that a walk meets: one that stays, or a new one for every
 * request, as on a platform that starts them on demand.
 *
 * @module
 */
import * as z from "zod";
import { tool } from "../../src/authoring/tool.ts";
import type { Environment } from "../../src/core/settings/setting.ts";
import {
  type Answering,
  Sender,
  startServer,
  type TestServer,
} from "../kit/server.ts";
import { FakeProvider } from "../kit/fake_provider.ts";
import { type OAuthServerOptions, startOAuthServer } from "../kit/sign_in.ts";

/** The options of one walk. */
export type ProcessOptions = Pick<
  OAuthServerOptions,
  "environment" | "fetchDocument" | "tools"
>;

/** The way in which a client is let in. */
export type Door = "none" | "bearer" | "oauth";

/** Runs a step and keeps what it cost under its name. */
export type Step = <T>(name: string, action: () => Promise<T>) => Promise<T>;

/** Servers that a client walks through, step by step. */
export interface Steps {
  /** Runs several requests as one step. */
  step: Step;
  /** Counts requests sent here as a step of this name. */
  as(name: string): Answering;
}

/** The surroundings of a walk. */
export interface Surroundings {
  kv: Deno.Kv;
  step: Step;
  /** Runs the start of a process, which no request waits for. */
  uncounted<T>(action: () => Promise<T>): Promise<T>;
  /** True if every request meets a process that has just started. */
  isCold: boolean;
}

export const BEARER_TOKEN = "a-token-of-a-client";

const ENV: Readonly<Record<Door, Environment>> = {
  none: {},
  bearer: { AUTH_STRATEGY: "bearer", BEARER_TOKEN },
  oauth: {},
};

const tools = [
  tool({
    name: "echo",
    input: z.object({ text: z.string() }),
    run: ({ text }) => text,
  }),
  tool({
    name: "confirm",
    run: async (_, { ask }) =>
      (await ask({ message: "Really?", schema: z.object({}) })).action,
  }),
  tool({ name: "mail", scopes: ["mail:read"], run: () => "You have mail" }),
  tool({
    name: "work",
    task: "required",
    input: z.object({ isEndless: z.boolean() }),
    run: ({ isEndless }) => isEndless ? new Promise<string>(() => {}) : "done",
  }),
  tool({
    name: "upstream",
    run: async (_, { upstream }) => (await upstream.token()).slice(0, 8),
  }),
];

/** The tools that do not say that they take long. */
export const quickTools = tools.filter(({ task }) => !task);

/** Steps that a browser takes by itself. */
const OF_BROWSER: Readonly<Record<string, string>> = {
  "GET /authorize": "authorize",
  "POST /authorize": "approve",
  "GET /oauth/provider-callback": "callback",
  "GET /account": "connections",
  "GET /account/tokens": "tokens",
  "GET /account/tokens?made": "tokens, with a new one",
  "GET /account/calls": "calls",
  "GET /account/data": "data",
  "GET /account/people": "people",
  "GET /account/clients": "clients",
  "GET /account/attempts": "attempts",
  "GET /account/durable": "durable work",
  "GET /account/work": "work",
  "GET /account/work?task": "one task",
  "POST /account/work/cancel": "cancel it",
  "POST /account/sign-in": "go to the provider",
  "POST /account/pause": "pause",
  "POST /account/resume": "resume",
  "POST /account/narrow": "narrow",
  "POST /account/tokens": "make a token",
  "POST /account/end": "end",
};

/** Requests to the next process. */
class Next extends Sender {
  constructor(readonly fetch: Answering["fetch"]) {
    super();
  }
}

/** Processes in front of one database. */
export class Processes implements Steps, AsyncDisposable {
  readonly provider = new FakeProvider();
  readonly #started: TestServer[] = [];

  constructor(
    private readonly door: Door,
    private readonly surroundings: Surroundings,
    private readonly options: ProcessOptions = {},
  ) {}

  /** Gives the process that the next request reaches. */
  async next(): Promise<TestServer> {
    const { isCold } = this.surroundings;
    const running = isCold ? undefined : this.#started[0];
    return running ?? await this.start();
  }

  step<T>(name: string, action: () => Promise<T>): Promise<T> {
    return this.surroundings.step(name, action);
  }

  as(name: string): Next {
    const { step } = this.surroundings;
    return new Next(async (path, init) => {
      const server = await this.next();
      const request = `${init?.method ?? "GET"} ${path.split("=")[0]}`;
      return await step(
        OF_BROWSER[request] ?? OF_BROWSER[request.split("?")[0]] ?? name,
        () => server.fetch(path, init),
      );
    });
  }

  async start(): Promise<TestServer> {
    const { door, provider, options } = this;
    const { kv, uncounted } = this.surroundings;
    const environment = { ...ENV[door], ...options.environment };
    const server = door === "oauth"
      ? await startOAuthServer({ kv, provider, tools, ...options, environment })
      : await startServer({
        kv,
        tools: options.tools ?? tools,
        env: environment,
      });
    await uncounted(() => server.app.start());
    this.#started.push(server);
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#started) await server[Symbol.asyncDispose]();
  }
}
