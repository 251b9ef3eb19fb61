/**
 * The telemetry of a client's message. Its method and names are the client's
 * text, so only known ones are recorded.
 * @module
 */
import { shortHash } from "../../log/log.ts";
import type { RpcNotification, RpcRequest } from "../../protocol/messages.ts";
import { Meta, metaOf } from "../../protocol/request_meta.ts";
import { isRevision, negotiateRevision } from "../../protocol/revisions.ts";
import type { MessageFacts, Telemetry } from "../../telemetry/telemetry.ts";
import type { AdmittedRequest } from "../exchange/engine.ts";
import { knownToolName } from "../exchange/report.ts";
import type { Incoming } from "../exchange/run.ts";
import { findResource } from "../../catalogue/find_resource.ts";
import type { MethodTables } from "./find.ts";

type Message = RpcRequest | RpcNotification;

const OTHERS: ReadonlySet<string> = new Set([
  "initialize",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
]);

/**
 * Matches a request id that may be recorded: short, and of harmless characters.
 */
const REQUEST_ID = /^[\w.:-]{1,64}$/;

/**
 * Serves a message within a telemetry operation, which ends when the call ends
 * or is refused. A message that is not a call has the outcome `ok`.
 */
export function observeMessage<A extends AdmittedRequest, T>(
  telemetry: Telemetry,
  methods: MethodTables,
  message: Message,
  admitted: A,
  incoming: Incoming,
  serve: (admitted: A) => T | Promise<T>,
): Promise<T> {
  const operation = telemetry.operation(factsOf(methods, message, admitted));
  incoming.operation = operation;
  return operation.run(async () => {
    const answer = await serve({ ...admitted, operation });
    operation.endUntaken({ outcome: "ok" });
    return answer;
  });
}

function factsOf(
  { session: inSession, stateless }: MethodTables,
  message: Message,
  { request: { headers }, version, catalogue }: AdmittedRequest,
): MessageFacts {
  const { method, params } = message;
  const meta = metaOf(params);
  const sessionId = headers.get("mcp-session-id");
  const revision = method === "initialize"
    ? negotiateRevision(params.protocolVersion)
    : [meta[Meta.protocolVersion], version].find(isRevision);
  const id = message.kind === "request" ? String(message.id) : "";
  const { name, uri } = params as Record<string, string>;
  const isMethod = [inSession, stateless, OTHERS]
    .some((methods) => methods.has(method));
  return {
    method: isMethod ? method : "_OTHER",
    tool: method === "tools/call" ? knownToolName(catalogue, name) : undefined,
    prompt: method === "prompts/get"
      ? catalogue.prompts.get(name)?.name
      : undefined,
    resource: method.startsWith("resources/")
      ? findResource(catalogue, uri)?.resource.uri
      : undefined,
    requestId: REQUEST_ID.test(id) ? id : undefined,
    session: sessionId ? shortHash(sessionId) : undefined,
    revision,
    meta,
  };
}
