/**
 * A request or notification of an MCP client, as a span and in a histogram.
 *
 * @module
 * @see
 * https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
 */
import {
  type Attributes,
  type Context,
  context,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { type Instruments, TRANSPORT_ATTRIBUTES } from "./instruments.ts";
import { Tally } from "./tally.ts";

export interface MessageFacts {
  /** `_OTHER` for an unknown method. */
  method: string;
  tool?: string;
  prompt?: string;
  /** The resource's URI as declared; for a template, without values. */
  resource?: string;
  requestId?: string;
  /** The fingerprint of the session ID. */
  session?: string;
  revision?: string;
  /** The message's `_meta`, which may name a trace. */
  meta: Record<string, unknown>;
}

interface OperationEnding {
  /** The outcome, as in the log. */
  outcome: string;
  /** The JSON-RPC error code of the response. */
  code?: number;
  /** True if the response is a `CallToolResult` with `isError`. */
  isToolError?: boolean;
  revision?: string;
  /** The request's reference in the log. */
  reference?: string;
}

/** One message while it is handled. */
export class Operation {
  readonly #instruments: Instruments;
  readonly #span: Span;
  readonly #context: Context;
  readonly #tally = new Tally();
  /** Attributes of both the span and the metric. */
  readonly #attributes: Attributes;
  readonly #startedMilliseconds = performance.now();
  #isTaken = false;

  constructor(instruments: Instruments, facts: MessageFacts) {
    const { method, tool, prompt, resource, requestId, session } = facts;
    this.#instruments = instruments;
    this.#attributes = knownAttributes(facts);
    const attributes = { ...this.#attributes };
    if (resource !== undefined) attributes["mcp.resource.uri"] = resource;
    if (requestId !== undefined) attributes["jsonrpc.request.id"] = requestId;
    if (session !== undefined) attributes["mcp.session.id"] = session;
    const { parent, links } = parentOf(facts.meta);
    const name = tool ?? prompt;
    this.#span = instruments.tracer.startSpan(
      name === undefined ? method : `${method} ${name}`,
      { kind: SpanKind.SERVER, links, attributes },
      parent,
    );
    this.#context = trace.setSpan(this.#tally.in(parent), this.#span);
  }

  /**
   * Runs a part of the operation. Spans and log lines of that part have the
   * operation's span as their parent.
   */
  run<T>(work: () => T): T {
    return context.active() === this.#context
      ? work()
      : context.with(this.#context, work);
  }

  /**
   * Makes `endUntaken` do nothing, because later code will end the operation.
   */
  take(): void {
    this.#isTaken = true;
  }

  /** Ends the operation, unless `take` was called. */
  endUntaken(ending: OperationEnding): void {
    if (!this.#isTaken) this.end(ending);
  }

  /** Ends the operation; must be called only once. */
  end(
    { outcome, code, isToolError, revision, reference }: OperationEnding,
  ): void {
    const span = this.#span;
    const ending: Attributes = { "tool_server.outcome": outcome };
    if (code !== undefined) ending["rpc.response.status_code"] = String(code);
    const errorType = code !== undefined
      ? String(code)
      : isToolError
      ? "tool_error"
      : undefined;
    if (errorType !== undefined) {
      ending["error.type"] = errorType;
      // Without a message, because an error's message may repeat a client's
      // text.
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    const attributes = { ...this.#attributes, ...ending };
    if (revision !== undefined) {
      // Setting an attribute twice would add a second one to the span.
      if (!("mcp.protocol.version" in attributes)) {
        ending["mcp.protocol.version"] = revision;
      }
      attributes["mcp.protocol.version"] = revision;
    }
    ending["tool_server.database.operations"] = this.#tally.databaseOperations;
    if (reference !== undefined) ending["tool_server.reference"] = reference;
    span.setAttributes(ending);
    span.end();
    this.#tally.isOver = true;
    this.#instruments.operations.record(
      (performance.now() - this.#startedMilliseconds) / 1000,
      attributes,
    );
  }
}

/** Returns the attributes of both the span and the metric. */
function knownAttributes(
  { method, tool, prompt, revision }: MessageFacts,
): Attributes {
  const attributes: Attributes = {
    "mcp.method.name": method,
    ...TRANSPORT_ATTRIBUTES,
  };
  if (tool !== undefined) attributes["gen_ai.tool.name"] = tool;
  if (prompt !== undefined) attributes["gen_ai.prompt.name"] = prompt;
  if (method === "tools/call") {
    attributes["gen_ai.operation.name"] = "execute_tool";
  }
  if (revision !== undefined) attributes["mcp.protocol.version"] = revision;
  return attributes;
}

/**
 * Returns the parent of a message's span: the span that `_meta` names, with a
 * link to the span of the HTTP request; if `_meta` names none, the span of the
 * HTTP request. The client's `baggage` is left out, because it would be sent on
 * to the provider.
 *
 * @see SEP-414
 */
function parentOf(
  { traceparent, tracestate }: Record<string, unknown>,
): { parent: Context; links?: Link[] } {
  const ambient = context.active();
  if (typeof traceparent !== "string") return { parent: ambient };
  const named = propagation.extract(ROOT_CONTEXT, { traceparent, tracestate });
  if (trace.getSpanContext(named) === undefined) return { parent: ambient };
  const brought = trace.getSpanContext(ambient);
  return { parent: named, links: brought ? [{ context: brought }] : [] };
}
