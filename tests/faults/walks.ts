/**
 * The walks of a client that repeats a request which was answered with 503, and
 * signs in again when it is told that something was used.
 *
 * @module
 */
import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { browserOf } from "../kit/browser.ts";
import { Client } from "../kit/client.ts";
import type { Line } from "../kit/faults.ts";
import type { Json } from "../kit/message.ts";
import { BASE_URL } from "../kit/server.ts";
import { until } from "../kit/wait.ts";

const greet = tool({ name: "greet", run: () => "hello" });

/** A server on which people sign in. */
export const OPTIONS = {
  tools: [greet],
  env: {
    BASE_URL,
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "github",
    OAUTH_CLIENT_ID: "our-client",
    OAUTH_CLIENT_SECRET: "our-secret",
  },
};

/**
 * Takes a step, and repeats it while it is answered with 503. A server that a
 * busy machine has slowed down needs a moment to see that its database answers.
 *
 * @param again the step to repeat, if it depends on the answer
 */
export async function persistent<T extends { status: number }>(
  step: () => Promise<T>,
  again: (answer: T) => Promise<T> = step,
): Promise<T> {
  let answer = await step();
  await until(async () =>
    answer.status !== 503 || (answer = await again(answer)).status !== 503
  );
  return answer;
}

/** Reads an answer to its end. */
export async function read(response: Response | Promise<Response>) {
  const { status } = await response;
  const text = await (await response).text();
  return { status, text, body: (): Json => JSON.parse(text) };
}

/** Registers a client. */
export async function register(line: Line): Promise<Client> {
  const { status, text, body } = await persistent(() =>
    read(line.fetch("/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: ["https://app.example.com/cb"] }),
    }))
  );
  assert.equal(status, 201, text);
  return new Client(line, body().client_id);
}

/** Walks to the code; undefined if a step says to begin again. */
async function authorize(
  line: Line,
  client: Client,
): Promise<string | undefined> {
  const browser = browserOf(line);
  const page = await persistent(() => browser.open(client.authorizationUrl()));
  assert.equal(page.status, 200, page.text);
  const approve = () => browser.press(page, "decision", "approve");
  // A person loads a page with a 503 again.
  const arrival = await persistent(
    approve,
    ({ url }) => url.endsWith("/authorize") ? approve() : browser.open(url),
  );
  if (arrival.url.startsWith(client.redirectUri)) {
    const { searchParams } = new URL(arrival.url);
    return searchParams.get("code") ?? undefined;
  }
  assert(arrival.status >= 400 && arrival.status < 500, arrival.text);
  return undefined;
}

/** Signs in, from the beginning if a process died after a step was used up. */
export async function signIn(line: Line, client: Client): Promise<Json> {
  for (let tries = 0; tries < 3; tries++) {
    const code = await authorize(line, client);
    if (code !== undefined) {
      const { status, body } = await persistent(() => client.redeem(code));
      if (status === 200) {
        return { ...body, code };
      }
      assert.equal(body.error, "invalid_grant");
    }
    assert(line.hasDied, "a fault that ends no process costs no sign-in");
  }
  throw new Error("It is wedged");
}

/** Calls a tool with a token. */
export async function call(client: Client, token: string) {
  return await persistent(() => read(client.call(token, "greet")));
}
