/**
 * The rows of the benchmark.
 *
 * @module
 */
import { callEcho, callHealth, listTools } from "../client.ts";
import { repeated } from "./calls.ts";
import { cold } from "./cold.ts";
import { database } from "./database.ts";
import { flood } from "./flood.ts";
import type { Row } from "./row.ts";
import { streams } from "./streams.ts";

export type { Row } from "./row.ts";

export const rows: readonly Row[] = [
  repeated({
    name: "call",
    title: "`tools/call health`",
    call: callHealth,
  }),
  repeated({
    name: "echo",
    title: "`tools/call echo`, a short answer",
    call: callEcho,
    tools: 3,
  }),
  repeated({
    name: "tools",
    title: "`tools/call health` with 1,000 tools",
    call: callHealth,
    tools: 1000,
  }),
  repeated({
    name: "list",
    title: "`tools/list` with 1,000 tools",
    call: listTools,
    tools: 1000,
    // Some peers need a third of a second for each.
    connections: 1,
  }),
  streams,
  cold,
  database,
  flood,
];
