/**
 * Keeps clients' text out of spans. Deno itself writes whole URLs into the
 * spans of requests and of `fetch`; the URLs of a sign-in have the provider's
 * code and the client's state.
 * @module
 */
import type { AttributeValue, Span, SpanStatus } from "@opentelemetry/api";
import { withoutQueries } from "../thrown.ts";

type SpanClass = Pick<Span, "setAttribute" | "setStatus">;

const redacted = new WeakSet<SpanClass>();

/**
 * Redacts all spans of the class of this one. Replaces methods of the class,
 * which Deno calls, too, because an attribute that was set cannot be removed.
 */
export function redactSpansLike(span: Span): void {
  const spans: SpanClass = Object.getPrototypeOf(span);
  if (redacted.has(spans)) return;
  redacted.add(spans);
  const { setAttribute, setStatus } = spans;
  spans.setAttribute = function (this: Span, name, value) {
    const kept = redactAttribute(name, value);
    return kept === undefined ? this : setAttribute.call(this, name, kept);
  };
  spans.setStatus = function (this: Span, status: SpanStatus) {
    const { code, message } = status;
    return setStatus.call(
      this,
      message ? { code, message: withoutQueries(message) } : status,
    );
  };
}

/** Redacts an attribute; returns undefined if it must be dropped. */
export function redactAttribute(
  name: string,
  value: AttributeValue,
): AttributeValue | undefined {
  if (name === "url.query") return undefined;
  if (name === "http.request.method") {
    return METHODS.test(String(value)) ? value : "_OTHER";
  }
  const mayHoldUrl = name === "url.full" || name.startsWith("exception.");
  return mayHoldUrl && typeof value === "string"
    ? withoutQueries(value)
    : value;
}

const METHODS = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/;

/** Returns the name of a standard method; `HTTP` for any other. */
export function knownMethodName(method: string): string {
  return METHODS.test(method) ? method : "HTTP";
}
