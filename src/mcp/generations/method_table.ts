/**
 * The methods of each generation.
 *
 * @module
 */
import type { Result } from "../exchange/answer.ts";
import type { Method } from "../exchange/run.ts";
import { complete } from "../methods/completion.ts";
import { getPrompt } from "../methods/prompt_get.ts";
import { readResource } from "../methods/resource_read.ts";
import { getSkill, listSkills, readDirectory } from "../methods/skills.ts";
import { listen } from "../methods/subscription.ts";
import { callTool } from "../methods/tool_call.ts";
import { invalidParams, shown } from "../wire/messages.ts";
import { isLoggingLevel, levels } from "../wire/request_meta.ts";
import { cancelTask, getTask, updateTask } from "../work/task_methods.ts";
import type { SessionCall } from "./session_call.ts";

const EMPTY: Method = () => ({ result: "{}" });

/** Makes the method that gives the pages of a list. */
function listOf(
  list: "tools" | "resources" | "resourceTemplates" | "prompts",
): Method {
  return ({ introduction, params }) => ({
    result: introduction[list].at(params.cursor),
  });
}

/** Methods that both generations have. */
const SHARED: readonly (readonly [string, Method])[] = [
  ["tools/list", listOf("tools")],
  ["tools/call", callTool],
  ["resources/list", listOf("resources")],
  ["resources/templates/list", listOf("resourceTemplates")],
  ["resources/read", readResource],
  ["prompts/list", listOf("prompts")],
  ["prompts/get", getPrompt],
  ["completion/complete", complete],
  ["skills/list", listSkills],
  ["skills/get", getSkill],
  ["resources/directory/read", readDirectory],
];

/**
 * The methods of 2025 besides `initialize`. Subscribing succeeds but has no
 * effect: without a GET stream there is no way to push.
 */
export const SESSION_METHODS: ReadonlyMap<string, Method<SessionCall>> =
  new Map<string, Method<SessionCall>>([
    ...SHARED,
    ["ping", EMPTY],
    ["resources/subscribe", EMPTY],
    ["resources/unsubscribe", EMPTY],
    ["logging/setLevel", setLevel],
  ]);

/** Methods of 2026. */
export const STATELESS_METHODS: ReadonlyMap<string, Method> = new Map([
  ...SHARED,
  ["server/discover", ({ catalogue }) => ({ result: catalogue.discovery })],
  ["tasks/get", getTask],
  ["tasks/update", updateTask],
  ["tasks/cancel", cancelTask],
  ["subscriptions/listen", listen],
]);

async function setLevel(
  { params: { level }, sessionId, engine }: SessionCall,
): Promise<Result> {
  if (!isLoggingLevel(level)) {
    throw invalidParams(`level must be ${levels()}, not ${shown(level)}`);
  }
  await engine.sessions.setLogLevel(sessionId, level);
  return { result: "{}" };
}
