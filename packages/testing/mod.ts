/**
 * Tests of tools, against the server itself: schemas, scopes, settings,
 * services, hooks and tasks included, in both generations of the protocol. No
 * socket, no environment, no network.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { tool, z } from "@tool-server/tool-server";
 * import { testServer } from "@tool-server/tool-server/testing";
 *
 * const add = tool({
 *   name: "add",
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   output: z.object({ sum: z.number() }),
 *   run: ({ a, b }) => ({ sum: a + b }),
 * });
 *
 * Deno.test("add adds", async () => {
 *   await using server = await testServer({ tools: [add] });
 *   const { structured } = await server.call(add, { a: 1, b: 2 });
 *   assert.equal(structured.sum, 3);
 * });
 * ```
 *
 * @module
 */
import type { TestRevision } from "./test_request.ts";
import type { Services } from "../../src/authoring/service.ts";
import type { SettingSchemas } from "../../src/authoring/setting.ts";
import { TestServer, type TestServerOptions } from "./test_server.ts";

export type { AskedQuestion, TestAnswer, TestAnswers } from "./answers.ts";
export type { CrashPoint } from "./test_cluster.ts";
export type {
  ApiAnswer,
  ApiHandler,
  ProviderApi,
  ServiceApis,
} from "./provider_api.ts";
export {
  type McpAnswer,
  type McpTools,
  testMcpServer,
} from "./test_mcp_server.ts";
export { RefusedError } from "./failures.ts";
export { serveApi, type Served, type ServedApi, serveTest } from "./served.ts";
export { type TestFile, testFile } from "./test_file.ts";
export type {
  CallArguments,
  CallInput,
  Listed,
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedSkill,
  ListedTool,
  LogMessage,
  Progress,
  PromptResult,
  ReadResult,
  RequestOptions,
  TestRevision,
  TestView,
} from "./test_request.ts";
export type { TestApproval, TestPress } from "./test_approvals.ts";
export type { TestClient } from "./test_client.ts";
export type { TestCaller } from "./test_gate.ts";
export type { TestResult } from "./test_result.ts";
export type { TestServer, TestServerOptions } from "./test_server.ts";
export type { TestChange, TestSubscription } from "./test_subscription.ts";
export type { TestTask, TestTaskStatus } from "./test_task.ts";
export type { Frontmatter } from "../../src/authoring/skill.ts";

/**
 * Starts a server in memory for a test, with the options of `createServer`. By
 * default it has an empty database of its own.
 *
 * @throws {import("../../src/core/settings/complaint.ts").ConfigError} with
 * every error in the settings
 * @throws
 * {import("../../src/core/catalogue/compiled_definitions.ts").CatalogueError}
 * with every error in the definitions
 * @throws {import("../../src/core/server/lifecycle.ts").ServiceError} if a
 * service does not start
 */
export async function testServer<
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
>(options: TestServerOptions<S, V>): Promise<TestServer> {
  return await TestServer.start(options);
}

/**
 * Runs a test once for each generation of the protocol: a tool's answer should
 * not depend on its client's.
 *
 * @example
 * ```ts
 * import { tool } from "@tool-server/tool-server";
 *
 * const greet = tool({ name: "greet", run: () => "Hello" });
 *
 * Deno.test("greet greets", () =>
 *   eachRevision(async (revision) => {
 *     await using server = await testServer({ tools: [greet], revision });
 *     const { text } = await server.call(greet);
 *     if (text !== "Hello") throw new Error(text);
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
