import assert from "node:assert/strict";
import type { Span } from "@opentelemetry/api";
import { withoutQueries } from "../../../src/core/thrown.ts";
import {
  redactAttribute,
  redactSpansLike,
} from "../../../src/core/telemetry/redaction.ts";

Deno.test("withoutQueries() keeps of each URL what is before its query", () => {
  const texts = {
    "https://a.example/b?code=secret&state=x": "https://a.example/b",
    "https://a.example/b#secret": "https://a.example/b",
    "https://a.example?secret": "https://a.example",
    "https://me:secret@a.example:8080/b": "https://a.example:8080/b",
    "error for url (http://a.example/?q=secret): refused":
      "error for url (http://a.example/): refused",
    'https://a.example/?a="https://b.example/?secret"':
      'https://a.example/"https://b.example/"',
    "HTTPS://a.example/?secret https://b.example/c?secret#d":
      "HTTPS://a.example/ https://b.example/c",
    "what? no URL, me@a.example": "what? no URL, me@a.example",
  };
  for (const [text, kept] of Object.entries(texts)) {
    assert.equal(withoutQueries(text), kept);
  }
});

Deno.test("redactAttribute() drops url.query and cuts what may hold a URL", () => {
  const url = "https://a.example/b?secret";
  assert.equal(redactAttribute("url.query", "code=secret"), undefined);
  for (
    const name of ["url.full", "exception.message", "exception.stacktrace"]
  ) {
    assert.equal(redactAttribute(name, url), "https://a.example/b");
  }
  assert.equal(redactAttribute("http.route", url), url);
  assert.equal(redactAttribute("http.response.status_code", 200), 200);
});

Deno.test("redactSpansLike() changes what every span of the class is told, once", () => {
  class Spans {
    told: unknown[] = [];
    setAttribute(name: string, value: unknown) {
      this.told.push([name, value]);
      return this;
    }
    setStatus(status: unknown) {
      this.told.push(status);
      return this;
    }
  }
  const spans = () => new Spans() as unknown as Span & Spans;
  redactSpansLike(spans());
  const { setAttribute } = Spans.prototype;
  redactSpansLike(spans());
  assert.equal(Spans.prototype.setAttribute, setAttribute);
  const span = spans();
  assert.equal(span.setAttribute("url.query", "code=secret"), span);
  span.setAttribute("url.full", "http://a.example/?secret");
  span.setStatus({ code: 2, message: "at http://a.example/?secret" });
  span.setStatus({ code: 2 });
  assert.deepEqual(span.told, [
    ["url.full", "http://a.example/"],
    { code: 2, message: "at http://a.example/" },
    { code: 2 },
  ]);
});
