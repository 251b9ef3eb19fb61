/**
 * Keeps query strings out of the spans that Deno makes for requests and
 * `fetch`. It writes whole URLs before anyone is asked, and those of a sign-in
 * hold the provider's code and the client's state.
 *
 * @module
 */
import type { AttributeValue, Span, SpanStatus } from "@opentelemetry/api";

type SpanClass = Pick<Span, "setAttribute" | "setStatus">;

const redacted = new WeakSet<SpanClass>();

/**
 * Redacts every span of this one's class. An attribute that has been set
 * cannot be taken back, so the class itself is changed: Deno uses the methods
 * that everyone does.
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

/** What may be kept of an attribute; undefined: nothing. */
export function redactAttribute(
  name: string,
  value: AttributeValue,
): AttributeValue | undefined {
  if (name === "url.query") return undefined;
  const mayHoldUrl = name === "url.full" || name.startsWith("exception.");
  return mayHoldUrl && typeof value === "string"
    ? withoutQueries(value)
    : value;
}

/** User, query and fragment of each URL in a text, as far as they can be told. */
const URLS =
  /(\bhttps?:\/\/)(?:[^\s/?#@]*@)?([^\s?#"'<>)]*)(?:[?#][^\s"'<>)]*)?/gi;

/** A text whose URLs end before their query. */
export function withoutQueries(text: string): string {
  return text.replace(URLS, "$1$2");
}
