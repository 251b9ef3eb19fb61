/**
 * The tracer and the histograms, and a function that reports work to both.
 *
 * @module
 * @see https://opentelemetry.io/docs/specs/semconv/db/database-metrics/
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
 */
import {
  type Attributes,
  context,
  type Histogram,
  metrics,
  type SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { VERSION } from "../version.ts";
import { errorNameOf } from "../thrown.ts";

const SCOPE = "tool-server";

/** Bucket boundaries in seconds, from the semantic conventions for MCP. */
const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/**
 * Bucket boundaries in seconds, from the semantic conventions for databases.
 */
const DATABASE_BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** The attributes of the transport, which all MCP messages share. */
export const TRANSPORT_ATTRIBUTES = {
  "network.protocol.name": "http",
  "network.transport": "tcp",
} as const;

export type Instruments = ReturnType<typeof makeInstruments>;

/** Makes the instruments, once for each process. */
export function makeInstruments() {
  const meter = metrics.getMeter(SCOPE, VERSION);
  const seconds = (name: string, description: string, bounds = BOUNDS) =>
    meter.createHistogram(name, {
      description,
      unit: "s",
      advice: { explicitBucketBoundaries: bounds },
    });
  const own = (noun: string, description: string) =>
    seconds(`tool_server.${noun}.duration`, description);
  return {
    tracer: trace.getTracer(SCOPE, VERSION),
    requests: own("request", "HTTP requests, by known methods and routes"),
    operations: seconds(
      "mcp.server.operation.duration",
      "Requests and notifications of MCP clients",
    ),
    sessions: seconds(
      "mcp.server.session.duration",
      "Sessions of MCP clients that have ended",
    ),
    tasks: own("task", "Work of tools in tasks"),
    approvals: own("approval.step", "Time until each step of an approval"),
    questions: seconds(
      "mcp.client.operation.duration",
      "Questions to MCP clients",
    ),
    signInSteps: own("sign_in.step", "Steps of signing in, and token requests"),
    providerCalls: own("provider.call", "Conversations with the provider"),
    accountCalls: own("account.call", "Requests to services with own accounts"),
    databaseOperations: seconds(
      "db.client.operation.duration",
      "Operations on Deno KV",
      DATABASE_BOUNDS,
    ),
  };
}

interface Observation<T> {
  span?: { name: string; kind: SpanKind; attributes?: Attributes };
  /** Attributes of both the span and the metric. */
  attributes: Attributes;
  histogram: Histogram;
  errorType?(error: unknown): string;
  /**
   * Returns the error type of a result that reports an error without throwing.
   */
  errorIn?(result: T): string | undefined;
}

/** Does work, and records how long it took and if it failed. */
export async function observe<T>(
  tracer: Tracer,
  work: () => Promise<T>,
  { span: named, attributes, histogram, errorType = errorClassOf, errorIn }:
    Observation<T>,
): Promise<T> {
  const startedMilliseconds = performance.now();
  const span = named &&
    tracer.startSpan(named.name, {
      kind: named.kind,
      attributes: { ...attributes, ...named.attributes },
    });
  let error: string | undefined;
  try {
    const result = await (span
      ? context.with(trace.setSpan(context.active(), span), work)
      : work());
    error = errorIn?.(result);
    return result;
  } catch (thrown) {
    error = errorType(thrown);
    throw thrown;
  } finally {
    const failure: Attributes = {};
    if (error !== undefined) {
      failure["error.type"] = error;
      span?.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR });
    }
    span?.end();
    histogram.record(
      (performance.now() - startedMilliseconds) / 1000,
      { ...attributes, ...failure },
    );
  }
}

/**
 * Returns the class of an exception. The message is not used, because it may
 * contain text from anyone.
 */
export function errorClassOf(error: unknown): string {
  const name = errorNameOf(error) ?? "";
  return /^\w{1,64}$/.test(name) ? name : "_OTHER";
}
