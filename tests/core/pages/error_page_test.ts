import assert from "node:assert/strict";
import {
  HttpError,
  OAuthError,
  type OAuthErrorCode,
  type Situation,
  StorageError,
} from "../../../src/core/errors.ts";
import { errorWords } from "../../../src/core/pages/error_page.tsx";
import type { RefusedRequest } from "../../../src/core/pages/situation_words.ts";

const REQUEST: RefusedRequest = {
  status: 400,
  base: "/tools",
  method: "GET",
  path: "/authorize",
};

const SITUATIONS: Situation[] = [
  "expired",
  "answered",
  "signed in",
  "finished",
  "not approved",
  "interrupted",
  "signed out",
  "not fresh",
  "client document",
  "other redirect",
];

const CODES: OAuthErrorCode[] = [
  "invalid_request",
  "invalid_client",
  "invalid_redirect_uri",
  "invalid_scope",
  "invalid_target",
  "unsupported_response_type",
  "access_denied",
];

/** One error of every cause, with its status. */
const ERRORS: [error: Error, status: number][] = [
  ...SITUATIONS.map((situation): [Error, number] => [
    new OAuthError("invalid_request", "Refused", { situation }),
    400,
  ]),
  ...(["provider refused", "provider failed", "provider unavailable"] as const)
    .map((situation): [Error, number] => [
      new HttpError(502, `The name and ${situation}`, { situation }),
      502,
    ]),
  ...CODES.map((code): [Error, number] => [
    new OAuthError(code, "Refused"),
    400,
  ]),
  [new StorageError(), 503],
  ...[403, 404, 413, 429, 501, 503].map((status): [Error, number] => [
    new HttpError(status, "Refused"),
    status,
  ]),
  [new Error("secret"), 500],
];

Deno.test("errorWords() has a title of its own for every cause", () => {
  const titles = ERRORS.map(([error, status]) =>
    errorWords(error, { ...REQUEST, status }).title
  );
  assert.deepEqual(titles, [...new Set(titles)]);
});

Deno.test("errorWords() asks people to wait only where waiting helps", () => {
  const waiting = ERRORS.filter(([error, status]) =>
    /[Ww]ait/.test(errorWords(error, { ...REQUEST, status }).move)
  ).map(([error, status]) =>
    error instanceof HttpError ? error.situation ?? status : error.name
  );
  assert.deepEqual(waiting, [
    "OAuthError",
    "provider unavailable",
    503,
    429,
    503,
  ]);
});

Deno.test("errorWords() offers to repeat only what a link can repeat", () => {
  const button = (method: string, path: string) =>
    errorWords(new StorageError(), { ...REQUEST, status: 503, method, path })
      .button;
  assert.equal(button("GET", "/authorize")?.href, "");
  assert.equal(button("POST", "/authorize"), undefined);
  assert.equal(button("POST", "/account/end")?.href, "/tools/account");
});

Deno.test("errorWords() leaves open whether a form counts whose storage did not answer", () => {
  const happened = (method: string) =>
    errorWords(new StorageError(), { ...REQUEST, status: 503, method })
      .happened;
  assert.match(happened("POST"), /may count all the same/);
  assert.equal(happened("GET"), "Nothing was lost or used up.");
});

Deno.test("errorWords() tells nothing of an internal error", () => {
  const words = errorWords(new Error("secret"), { ...REQUEST, status: 500 });
  assert.doesNotMatch(JSON.stringify(words), /secret/);
});
