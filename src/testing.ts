/**
 * Tests of tools, against the server itself: schemas, scopes, settings,
 * services, hooks and tasks included, in both generations of the protocol. No
 * socket, no environment, no network.
 *
 * @example
 * ```ts ignore
 * import assert from "node:assert/strict";
 * import { testServer } from "@tool-server/tool-server/testing";
 * import searchMail from "./search_mail.ts";
 *
 * Deno.test("search_mail finds subjects", async () => {
 *   await using server = await testServer({ tools: [searchMail] });
 *   const ada = server.as({ subject: "ada", scopes: ["mail:read"] });
 *   const upstream = { "/messages?q=tea&n=10": { subjects: ["Tea?"] } };
 *   const found = await ada.call(searchMail, { query: "tea" }, { upstream });
 *   assert.deepEqual(found.structured, { subjects: ["Tea?"] });
 * });
 * ```
 *
 * @module
 */
import type { TestRevision } from "./testing/test_request.ts";
import { TestServer, type TestServerOptions } from "./testing/test_server.ts";

export type { Answer, Answers, AskedQuestion } from "./testing/answers.ts";
export type {
  ApiAnswer,
  ApiHandler,
  ProviderApi,
} from "./testing/provider_api.ts";
export { RefusedError } from "./testing/refused.ts";
export { type Served, serveTest } from "./testing/served.ts";
export type {
  CallArguments,
  Listed,
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
  PromptResult,
  ReadResult,
  TestClient,
} from "./testing/test_client.ts";
export type { TestCaller } from "./testing/test_gate.ts";
export type {
  LogMessage,
  Progress,
  RequestOptions,
  TestRevision,
} from "./testing/test_request.ts";
export type { TestResult } from "./testing/test_result.ts";
export type { TestServer, TestServerOptions } from "./testing/test_server.ts";
export type {
  TestChange,
  TestSubscription,
} from "./testing/test_subscription.ts";
export type { TaskStatus, TestTask } from "./testing/test_task.ts";

/**
 * Starts a server in memory for a test. It takes the options of
 * `createServer`; its database is one of its own, empty, unless you give one.
 *
 * @throws {import("./config/environment.ts").ConfigError} with every complaint
 * about the settings
 * @throws {import("./protocol/catalogue.ts").CatalogueError} with every
 * complaint about the definitions
 * @throws {import("./engine/lifecycle.ts").ServiceError} when a service does
 * not start
 */
export async function testServer(
  options: TestServerOptions,
): Promise<TestServer> {
  return await TestServer.start(options);
}

/**
 * Runs a test once for each generation of the protocol: what a tool answers
 * should not depend on its client's.
 *
 * @example
 * ```ts ignore
 * Deno.test("choose asks", () =>
 *   eachRevision(async (revision) => {
 *     await using server = await testServer({ tools: [choose], revision });
 *     // …
 *   }));
 * ```
 * @throws {Error} that names the revision, with the failure as its cause
 */
export async function eachRevision(
  test: (revision: TestRevision) => Promise<void> | void,
): Promise<void> {
  for (const revision of ["2026-07-28", "2025-11-25"] as const) {
    try {
      await test(revision);
    } catch (cause) {
      const { message } = cause as Error;
      throw new Error(`With ${revision}: ${message}`, { cause });
    }
  }
}
