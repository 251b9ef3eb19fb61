/**
 * The names in PromQL queries, and the names that Prometheus' OTLP receiver
 * gives to a server's exports.
 *
 * @module
 * @see https://prometheus.io/docs/guides/opentelemetry/
 */
import assert from "node:assert/strict";
import type { CollectedPoint } from "./collector.ts";
import { REPOSITORY } from "../kit/process.ts";

/** The names in a query. */
export interface Asked {
  metrics: string[];
  labels: string[];
  /** The exact values of labels, as `label="value"`. */
  values: string[];
}

/** Identifiers that are neither a metric nor a function. */
const KEYWORDS = new Set(["by", "and", "or", "unless", "on", "ignoring"]);

const UNITS: Record<string, string> = { s: "_seconds", By: "_bytes", S: "_S" };

/** Reads a query. */
export function askedBy(query: string): Asked {
  const labels: string[] = [];
  const values: string[] = [];
  const rest = query
    .replaceAll(/\{[^}]*\}/g, (matchers) => {
      for (
        const [, label, operator, value] of matchers.matchAll(
          /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g,
        )
      ) {
        labels.push(label);
        if (operator === "=") values.push(`${label}="${value}"`);
      }
      return "";
    })
    .replaceAll(/\bby\s*\(([^)]*)\)/g, (_, names) => {
      labels.push(...names.split(",").map((name: string) => name.trim()));
      return "";
    })
    .replaceAll(/\[[^\]]*\]/g, "");
  const metrics = [...rest.matchAll(/\b[a-z_]\w*\b(?!\s*\()/gi)]
    .map(([name]) => name).filter((name) => !KEYWORDS.has(name));
  return { metrics, labels, values };
}

/** Lists all names and values that can be queried. */
export function askable(points: readonly CollectedPoint[]) {
  const metrics = new Set<string>();
  // Labels of the resource: `service.name` and `service.instance.id`.
  const labels = new Set(["job", "instance"]);
  const values = new Set<string>();
  for (const { metric, unit, kind, attributes } of points) {
    const name = escaped(metric) + (UNITS[unit] ?? "");
    if (kind === "histogram") {
      for (const part of ["bucket", "count", "sum"]) {
        metrics.add(`${name}_${part}`);
      }
      labels.add("le");
    } else metrics.add(name);
    for (const [attribute, value] of Object.entries(attributes)) {
      labels.add(escaped(attribute));
      values.add(`${escaped(attribute)}="${value}"`);
    }
  }
  return { metrics, labels, values };
}

function escaped(name: string): string {
  return name.replaceAll(".", "_");
}

/** The examined part of a Grafana dashboard. */
export interface Dashboard {
  panels: {
    id: number;
    targets: { expr: string; legendFormat: string }[];
  }[];
  templating: { list: { name: string; query: string }[] };
}

/** The dashboard that operators import. */
export async function readDashboard(): Promise<Dashboard> {
  return JSON.parse(
    await Deno.readTextFile(new URL("deploy/grafana.json", REPOSITORY)),
  );
}

/** Lists the queries of the docs and the dashboard. */
export async function queries(): Promise<string[]> {
  const text = await Deno.readTextFile(
    new URL("docs/telemetry.md", REPOSITORY),
  );
  const ofDocs = [...text.matchAll(/```promql\n(.*?)```/gs)]
    .map(([, query]) => query);
  assert(ofDocs.length > 8);
  const dashboard = await readDashboard();
  const targets = dashboard.panels.flatMap(({ targets }) => targets);
  return [...ofDocs, ...targets.map(({ expr }) => expr)];
}
