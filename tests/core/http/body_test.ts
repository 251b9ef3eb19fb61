import assert from "node:assert/strict";
import { Context } from "@hono/hono";
import { HttpError, OAuthError } from "../../../src/core/errors.ts";
import { readJson, readParameters } from "../../../src/core/http/body.ts";
import type { AppEnv } from "../../../src/core/http/client_address.ts";

const FORM = "application/x-www-form-urlencoded";

/** Makes the context of a request with a body, and a type if one is given. */
function sent(body: string, type?: string) {
  const request = new Request("http://localhost", {
    method: "POST",
    // Bytes, because Request adds a type for a text.
    body: new TextEncoder().encode(body),
  });
  if (type !== undefined) request.headers.set("content-type", type);
  return new Context<AppEnv>(request);
}

async function refuses(reading: Promise<unknown>, message: RegExp) {
  await assert.rejects(reading, (error) => {
    assert(error instanceof OAuthError, `${error}`);
    assert.equal(error.code, "invalid_request");
    assert.match(error.message, message);
    return true;
  });
}

Deno.test("readJson() takes 16 KiB, and not a byte more", async () => {
  const text = "a".repeat(16_384 - 2);
  assert.equal(await readJson(sent(`"${text}"`)), text);
  await assert.rejects(
    readJson(sent(`"${text}a"`)),
    (error) => error instanceof HttpError && error.status === 413,
  );
});

Deno.test("readJson() refuses a body whose sender hangs up", async () => {
  const body = new ReadableStream({
    pull: () => Promise.reject(new Error("hung up")),
  });
  const request = new Request("http://localhost", { method: "POST", body });
  await assert.rejects(
    readJson(new Context<AppEnv>(request)),
    (error) => error instanceof HttpError && error.status === 400,
  );
});

Deno.test("readJson() refuses what is not JSON", async () => {
  for (const body of ["", "{", "a=b"]) {
    await refuses(readJson(sent(body)), /must be JSON/);
  }
});

Deno.test("readParameters() reads a form, whatever its type says besides", async () => {
  for (
    const type of [
      FORM,
      `${FORM};charset=utf-8`,
      "Application/X-WWW-Form-Urlencoded ; charset=utf-8",
    ]
  ) {
    const parameters = await readParameters(sent("code=a+b", type));
    assert.equal(parameters.get("code"), "a b", type);
  }
});

Deno.test("readParameters() reads a JSON object of strings", async () => {
  const body = '{"code":"a","state":"b"}';
  const parameters = await readParameters(sent(body, "application/json"));
  assert.equal(parameters.get("code"), "a");
  assert.equal(parameters.get("state"), "b");
});

Deno.test("readParameters() refuses any other JSON", async () => {
  for (
    const body of [
      "null",
      "[]",
      '"code"',
      "1",
      '{"code":1}',
      '{"state":"b","code":null}',
      '{"code":["a"]}',
    ]
  ) {
    const reading = readParameters(sent(body, "application/json"));
    await refuses(reading, /must be an object of strings/);
  }
});

Deno.test("readParameters() refuses any other type, and none", async () => {
  for (const type of [undefined, "text/plain", "multipart/form-data"]) {
    // As a form or as JSON it would be readable.
    const reading = readParameters(sent("{}", type));
    await refuses(reading, /must be application\/x-www-form-urlencoded/);
  }
});
