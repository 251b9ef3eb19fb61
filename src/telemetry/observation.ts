/**
 * One piece of work as a span and in a histogram.
 *
 * @module
 */
import {
  type Attributes,
  context,
  type Histogram,
  type SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { errorNameOf } from "../thrown.ts";

interface Observation<T> {
  span?: { name: string; kind: SpanKind; attributes?: Attributes };
  /** Attributes of both the span and the metric. */
  attributes: Attributes;
  histogram: Histogram;
  errorType?(error: unknown): string;
  /** Finds the error type of a result, if nothing was thrown. */
  errorIn?(result: T): string | undefined;
}

/** Does work, and tells how long it took and if it failed. */
export async function observe<T>(
  tracer: Tracer,
  work: () => Promise<T>,
  { span: named, attributes, histogram, errorType = typeOf, errorIn }:
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
    const failure: Attributes = error === undefined
      ? {}
      : { "error.type": error };
    if (error !== undefined) {
      span?.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR });
    }
    span?.end();
    histogram.record(
      (performance.now() - startedMilliseconds) / 1000,
      { ...attributes, ...failure },
    );
  }
}

/** Gives the class of an exception; its message may hold anyone's text. */
export function typeOf(error: unknown): string {
  const name = errorNameOf(error) ?? "";
  return /^\w{1,64}$/.test(name) ? name : "_OTHER";
}
