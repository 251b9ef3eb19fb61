/**
 * Another MCP server in memory, for the tests of tools that call it.
 *
 * @module
 */
import type { CallToolResult } from "../../src/authoring/tool.ts";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import type { ApiHandler } from "./provider_api.ts";

/** The result of a tool: a text, a whole result, or a JSON object. */
export type McpAnswer = string | CallToolResult | JsonObject;

/**
 * The tools of a server, each with its result, or a function from its input to
 * a result.
 */
export type McpTools = Readonly<
  Record<
    string,
    // deno-lint-ignore no-explicit-any
    McpAnswer | ((input: any) => McpAnswer | Promise<McpAnswer>)
  >
>;

/**
 * Makes the server that a test gives its caller in `needs`. If a tool throws,
 * the call fails with the message of the error.
 *
 * @example
 * ```ts
 * import { testMcpServer } from "@tool-server/tool-server/testing";
 *
 * const tracker = testMcpServer({
 *   create_issue: ({ title }) => `Created ${title}`,
 * });
 * // server.call(reportFault, { title: "…" }, { needs: { tracker } })
 * ```
 */
export function testMcpServer(tools: McpTools): ApiHandler {
  return async (request) => {
    const { id, method, params } = await request.json();
    const answer = (members: object) =>
      Response.json({ jsonrpc: "2.0", id, ...members });
    if (method === "server/discover") {
      return answer({ result: { supportedVersions: ["2026-07-28"] } });
    }
    const { name, arguments: input } = params;
    if (!Object.hasOwn(tools, name)) {
      const message = `Unknown tool: ${name}`;
      return answer({ error: { code: -32602, message } });
    }
    const tool = tools[name];
    try {
      const made = typeof tool === "function" ? await tool(input) : tool;
      return answer({ result: resultOf(made) });
    } catch (error) {
      const text = error instanceof Error ? error.message : `${error}`;
      return answer({ result: { ...resultOf(text), isError: true } });
    }
  };
}

function resultOf(answer: McpAnswer): JsonObject {
  if (isObject(answer) && Array.isArray(answer.content)) return answer;
  const isText = typeof answer === "string";
  const text = isText ? answer : JSON.stringify(answer);
  return {
    content: [{ type: "text", text }],
    ...!isText && { structuredContent: answer as JsonObject },
  };
}
