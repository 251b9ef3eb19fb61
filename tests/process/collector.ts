/**
 * A collector of telemetry on loopback: OTLP over HTTP, understood as JSON.
 *
 * @module
 * @see https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
import type { Json } from "../kit/message.ts";

/** A span as it arrived, its attributes by name. */
export interface CollectedSpan {
  /** Name and version of the instrumentation. */
  scope: string;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  /** 2 is an error. */
  statusCode: number;
  attributes: Record<string, unknown>;
  /** Traces that it links to. */
  links: { traceId: string; spanId: string }[];
  events: { name: string; attributes: Record<string, unknown> }[];
}

/** One series of a metric. */
export interface CollectedPoint {
  metric: string;
  unit: string;
  kind: "histogram" | "gauge" | "sum";
  /** The values of a histogram, with its bounds. */
  count: number;
  bounds: number[];
  attributes: Record<string, unknown>;
}

/** One line of the log. */
export interface CollectedRecord {
  severity: number;
  traceId: string;
  spanId: string;
  body: string;
}

/** Everything that a process exported. */
export class Collector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  readonly records: CollectedRecord[] = [];
  /** The points of the last export. */
  points: CollectedPoint[] = [];
  /** The resources that the metrics belong to. */
  readonly resources: Record<string, unknown>[] = [];
  /** The bodies as they arrived. */
  exported = "";
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      async (request) => {
        const body = await request.text();
        this.exported += body;
        // Names and values can be found in protobuf, too.
        const isJson = request.headers.get("content-type")?.includes("json");
        if (isJson) this.#take(JSON.parse(body));
        return Response.json({});
      },
    );
  }

  /**
   * The variables with which a process exports everything to this collector.
   */
  get environment(): Record<string, string> {
    return {
      OTEL_DENO: "true",
      OTEL_PROPAGATORS: "tracecontext,baggage",
      OTEL_METRIC_EXPORT_INTERVAL: "2000",
      OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.#server.addr.port}`,
    };
  }

  /** Lists the spans with a name. */
  named(name: string): CollectedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  /** Lists the spans beneath another, at any depth. */
  beneath({ spanId, traceId }: CollectedSpan): CollectedSpan[] {
    return this.spans
      .filter((span) =>
        span.parentSpanId === spanId && span.traceId === traceId
      )
      .flatMap((span) => [span, ...this.beneath(span)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  #take({ resourceSpans, resourceMetrics, resourceLogs }: Json): void {
    for (const { scope, spans } of scopesOf(resourceSpans, "scopeSpans")) {
      for (const span of spans) {
        this.spans.push(spanOf(`${scope.name} ${scope.version}`, span));
      }
    }
    for (const { logRecords } of scopesOf(resourceLogs, "scopeLogs")) {
      for (const record of logRecords) this.records.push(recordOf(record));
    }
    for (const { resource } of resourceMetrics ?? []) {
      this.resources.push(attributesOf(resource.attributes));
    }
    const metrics = scopesOf(resourceMetrics, "scopeMetrics")
      .flatMap(({ metrics }) => metrics);
    if (metrics.length > 0) this.points = metrics.flatMap(pointsOf);
  }
}

function scopesOf(resources: Json[] = [], scopes: string): Json[] {
  return resources.flatMap((resource) => resource[scopes]);
}

function spanOf(
  scope: string,
  { status, attributes, links = [], events = [], parentSpanId = "", ...span }:
    Json,
): CollectedSpan {
  const { name, kind, traceId, spanId } = span;
  return {
    scope,
    name,
    kind,
    traceId,
    spanId,
    parentSpanId,
    statusCode: status?.code ?? 0,
    attributes: attributesOf(attributes),
    links: links.map(({ traceId, spanId }: Json) => ({ traceId, spanId })),
    events: events.map(({ name, attributes }: Json) => ({
      name,
      attributes: attributesOf(attributes),
    })),
  };
}

function recordOf(
  { severityNumber, traceId = "", spanId = "", body }: Json,
): CollectedRecord {
  return { severity: severityNumber, traceId, spanId, body: body.stringValue };
}

function pointsOf({ name, unit, ...data }: Json): CollectedPoint[] {
  return (["histogram", "gauge", "sum"] as const).flatMap((kind) =>
    (data[kind]?.dataPoints ?? []).map((point: Json) => ({
      metric: name,
      unit,
      kind,
      count: Number(point.count ?? 0),
      bounds: point.explicitBounds ?? [],
      attributes: attributesOf(point.attributes),
    }))
  );
}

function attributesOf(list: Json[] = []): Record<string, unknown> {
  return Object.fromEntries(
    list.map(({ key, value }) => [key, Object.values(value)[0]]),
  );
}
