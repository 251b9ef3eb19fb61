/**
 * The tracer, and the histograms by name.
 *
 * @module
 * @see https://opentelemetry.io/docs/specs/semconv/db/database-metrics/
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
 */
import {
  type Histogram,
  metrics,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { VERSION } from "../version.ts";

const SCOPE = "tool-server";

/** Bucket bounds in seconds, from the conventions for MCP. */
const OPERATION_SECONDS = [
  0.01,
  0.02,
  0.05,
  0.1,
  0.2,
  0.5,
  1,
  2,
  5,
  10,
  30,
  60,
  120,
  300,
];
/** Bucket bounds in seconds, from the conventions for databases. */
const DATABASE_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** The attributes of the transport, the same for every message of MCP. */
export const TRANSPORT = {
  "network.protocol.name": "http",
  "network.transport": "tcp",
} as const;

export interface Instruments {
  tracer: Tracer;
  /** The time from an HTTP request to the head of its answer. */
  requests: Histogram;
  /** The time from a client's message to its answer. */
  operations: Histogram;
  /** The time from `initialize` to the end of a session. */
  sessions: Histogram;
  /** The time of tools' work that outlives its request. */
  tasks: Histogram;
  /** The time from a question to a client to its answer. */
  questions: Histogram;
  /** The time of sign-in steps and token requests. */
  signInSteps: Histogram;
  /** The time of requests to the provider. */
  providerCalls: Histogram;
  /** The time of operations on the database. */
  databaseOperations: Histogram;
}

/** Makes the instruments, once for each process. */
export function makeInstruments(): Instruments {
  const meter = metrics.getMeter(SCOPE, VERSION);
  const seconds = (name: string, description: string, bounds: number[]) =>
    meter.createHistogram(name, {
      description,
      unit: "s",
      advice: { explicitBucketBoundaries: bounds },
    });
  return {
    tracer: trace.getTracer(SCOPE, VERSION),
    requests: seconds(
      "tool_server.request.duration",
      "HTTP requests, by known methods and routes alone",
      OPERATION_SECONDS,
    ),
    operations: seconds(
      "mcp.server.operation.duration",
      "Requests and notifications of MCP clients",
      OPERATION_SECONDS,
    ),
    sessions: seconds(
      "mcp.server.session.duration",
      "Sessions of MCP clients that have ended",
      OPERATION_SECONDS,
    ),
    tasks: seconds(
      "tool_server.task.duration",
      "Work of tools in tasks",
      OPERATION_SECONDS,
    ),
    questions: seconds(
      "mcp.client.operation.duration",
      "Questions to MCP clients",
      OPERATION_SECONDS,
    ),
    signInSteps: seconds(
      "tool_server.sign_in.step.duration",
      "Steps of signing in, and requests for tokens",
      OPERATION_SECONDS,
    ),
    providerCalls: seconds(
      "tool_server.provider.call.duration",
      "Conversations with the sign-in provider",
      OPERATION_SECONDS,
    ),
    databaseOperations: seconds(
      "db.client.operation.duration",
      "Operations on Deno KV",
      DATABASE_SECONDS,
    ),
  };
}
