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

/** Seconds, as the conventions for MCP have them. */
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
/** Seconds, as the conventions for databases have them. */
const DATABASE_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** How every message of MCP arrives. */
export const TRANSPORT = {
  "network.protocol.name": "http",
  "network.transport": "tcp",
} as const;

/** What is measured with. */
export interface Instruments {
  tracer: Tracer;
  /** Messages of clients, until they are answered. */
  operations: Histogram;
  /** Sessions of clients, from `initialize` to their end. */
  sessions: Histogram;
  /** Work of tools that outlives its request. */
  tasks: Histogram;
  /** Questions to clients, until they are answered. */
  questions: Histogram;
  /** Steps of a sign-in and requests for tokens. */
  signInSteps: Histogram;
  /** Conversations with the provider. */
  providerCalls: Histogram;
  /** Operations on the database. */
  databaseOperations: Histogram;
}

/** Makes them, once for each process. */
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
