/**
 * The method table: the methods of each generation, and the scopes that a
 * request needs.
 *
 * @module
 */
import type { Call, Method } from "../exchange/call.ts";
import { challengeResult, readsResults } from "../exchange/challenge_result.ts";
import type { Admitted, Engine } from "../exchange/engine.ts";
import { noteCall } from "../exchange/noted.ts";
import { scopeChallenge } from "../exchange/granted.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { complete } from "../methods/completion.ts";
import { invalidParams, type RpcRequest, shown } from "../wire/messages.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { getPrompt } from "../methods/prompt_get.ts";
import { isLoggingLevel, levels } from "../wire/request_meta.ts";
import { findResource, readResource } from "../methods/resource_read.ts";
import { getSkill, listSkills, readDirectory } from "../methods/skills.ts";
import type { SessionCall } from "./session_call.ts";
import { listen, URIS } from "../methods/subscription.ts";
import { cancelTask, getTask, updateTask } from "../work/task_methods.ts";
import { callTool } from "../methods/tool_call.ts";

const EMPTY: Method = () => "{}";

/** Methods that both generations have. */
const SHARED: readonly (readonly [string, Method])[] = [
  [
    "tools/list",
    ({ introduction, params }) => introduction.tools.at(params.cursor),
  ],
  ["tools/call", callTool],
  [
    "resources/list",
    ({ introduction, params }) => introduction.resources.at(params.cursor),
  ],
  [
    "resources/templates/list",
    ({ introduction, params }) =>
      introduction.resourceTemplates.at(params.cursor),
  ],
  ["resources/read", readResource],
  [
    "prompts/list",
    ({ introduction, params }) => introduction.prompts.at(params.cursor),
  ],
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
  new Map<
    string,
    Method<SessionCall>
  >([
    ...SHARED,
    ["ping", EMPTY],
    ["resources/subscribe", EMPTY],
    ["resources/unsubscribe", EMPTY],
    ["logging/setLevel", setLevel],
  ]);

/** Methods of 2026. */
export const STATELESS_METHODS: ReadonlyMap<string, Method> = new Map([
  ...SHARED,
  ["server/discover", ({ catalogue }) => catalogue.discovery],
  ["tasks/get", getTask],
  ["tasks/update", updateTask],
  ["tasks/cancel", cancelTask],
  ["subscriptions/listen", listen],
]);

/**
 * Gives a method to a caller who was granted the scopes that the request needs.
 *
 * @throws {import("../../errors.ts").ChallengeError} as `scopeChallenge`
 */
export function permitted<C extends Call>(
  run: Method<C>,
  message: RpcRequest,
  admitted: Admitted,
  { ledger, clock }: Pick<Engine, "ledger" | "clock">,
): Method<C> {
  const { method, params } = message;
  const { catalogue, authenticated: { caller }, request } = admitted;
  if (caller.scopes === "all") return run;
  const needed = scopesFor(catalogue, method, params);
  const challenge = scopeChallenge(caller, needed);
  if (!challenge) return run;
  if (method === "tools/call" && readsResults(request.headers)) {
    return (call) => challengeResult(call, challenge);
  }
  noteCall(ledger, message, admitted, {
    outcome: "refused",
    startedMilliseconds: clock(),
  });
  throw challenge;
}

/** Lists the scopes a request needs; none for an unknown name. */
function scopesFor(
  catalogue: Catalogue,
  method: string,
  params: JsonObject,
): readonly string[] {
  switch (method) {
    case "tools/call":
      return catalogue.tools.get(params.name as string)?.scopes ?? [];
    case "prompts/get":
      return catalogue.prompts.get(params.name as string)?.scopes ?? [];
    case "resources/read":
    case "resources/subscribe":
      return findResource(catalogue, params.uri)?.resource.scopes ?? [];
    case "skills/get":
      return catalogue.skills.get(params.uri as string)?.scopes ?? [];
    case "resources/directory/read":
      return catalogue.directories.get(params.uri as string)?.scopes ?? [];
    case "completion/complete":
      return scopesOfReference(catalogue, params.ref);
    case "subscriptions/listen":
      return scopesOfFilter(catalogue, params.notifications);
    default:
      return [];
  }
}

/**
 * Lists the scopes of a reference: proposals may be as private as the thing
 * they are for.
 */
function scopesOfReference(
  { prompts, resources, templates }: Catalogue,
  ref: unknown,
): readonly string[] {
  if (!isObject(ref)) return [];
  if (ref.type === "ref/prompt") {
    return prompts.get(ref.name as string)?.scopes ?? [];
  }
  const resource = resources.get(ref.uri as string) ??
    templates.find(({ resource }) => resource.uri === ref.uri)?.resource;
  return resource?.scopes ?? [];
}

/**
 * Lists the scopes of a filter: hearing of a change needs the same scopes as
 * reading.
 */
function scopesOfFilter(
  catalogue: Catalogue,
  notifications: unknown,
): readonly string[] {
  if (!isObject(notifications)) return [];
  const { resourceSubscriptions: uris } = notifications;
  if (!Array.isArray(uris) || uris.length > URIS) return [];
  const needed = uris.flatMap((uri) =>
    findResource(catalogue, uri)?.resource.scopes ?? []
  );
  return [...new Set(needed)];
}

async function setLevel(
  { params: { level }, sessionId, engine }: SessionCall,
): Promise<string> {
  if (!isLoggingLevel(level)) {
    throw invalidParams(`level must be ${levels()}, not ${shown(level)}`);
  }
  await engine.sessions.setLogLevel(sessionId, level);
  return "{}";
}
