import assert from "node:assert/strict";
import { Hono } from "@hono/hono";
import { attemptRecorder } from "../../../../src/core/auth/server/authorization_server.ts";
import { HttpError, OAuthError } from "../../../../src/core/errors.ts";
import { recordLog } from "../../../kit/log.ts";
import { shortClientId } from "../../../../src/core/oauth/client.ts";
import { AccountVisitor } from "../../../kit/account_visitor.ts";
import { Client } from "../../../kit/client.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";
import type { AttemptLog } from "../../../../src/core/store/attempts.ts";

const BASE_URL = "https://tools.example.com";
const BACK = "https://app.example.com/cb";

interface AppEnv {
  Variables: { client?: string; refusal?: string };
}

/** Records a step with this end, and gives the notes and the answer. */
async function recorded(
  end: () => Response,
  { query = "", client }: { query?: string; client?: string } = {},
) {
  const notes: unknown[] = [];
  let refusal: string | undefined;
  const record = attemptRecorder({
    baseUrl: BASE_URL,
    attempts: {
      note: (attempt: unknown) => notes.push(attempt),
    } as unknown as AttemptLog,
  });
  const app = new Hono<AppEnv>();
  app.use(async (c, next) => {
    c.set("client", client);
    await next();
    refusal = c.get("refusal");
  });
  app.get("/step", record, () => end());
  app.onError((error, c) => c.text(String(error), 400));
  const response = await app.request(`/step${query}`);
  return { notes, refusal, text: await response.text() };
}

function to(location: string): () => Response {
  return () => new Response(null, { status: 302, headers: { location } });
}

const iss = encodeURIComponent(BASE_URL);

Deno.test("attemptRecorder() notes a code that a client got, by where it went", async () => {
  const { notes, refusal } = await recorded(to(`${BACK}?code=1&iss=${iss}`));
  assert.deepEqual(notes, [{
    step: "GET /step",
    client: BACK,
    isStranger: false,
  }]);
  assert.equal(refusal, undefined);
});

Deno.test("a step that fails is noted by its client's name, and logged by its ID", async () => {
  const { log, events } = recordLog();
  await using server = await startOAuthServer({
    log,
    environment: { OAUTH_ADMINS: "root@example.com" },
  });
  const client = await Client.register(server, { client_name: "Their app" });
  const browser = server.browser();
  await browser.open(
    client.authorizationUrl({ redirect_uri: "https://other.example/cb" }),
  );
  const page = await browser.open(client.authorizationUrl());
  await browser.press(page, "decision", "perhaps");
  await client.redeem("guessed");
  const logged = events.filter(({ message, properties: { status } }) =>
    message === "Request" && Number(status) >= 400
  ).map(({ properties: { clientId } }) => clientId);
  const id = shortClientId(client.clientId);
  assert.deepEqual(logged, [id, id, id]);
  const { words } = await AccountVisitor.signIn(server, {
    as: "1",
    email: "root@example.com",
    at: "/attempts",
  });
  for (const step of ["GET /authorize", "POST /authorize", "POST /token"]) {
    assert(words.includes(`${step} Their app Failed`), `${step}: ${words}`);
  }
});

Deno.test("a refused registration is noted by the name that was claimed, as a stranger's", async () => {
  await using server = await startOAuthServer({
    environment: {
      OAUTH_ADMINS: "root@example.com",
      OAUTH_REDIRECT_HOSTS: "app.example.com",
    },
  });
  const answer = await server.fetch("/register", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Their app",
      redirect_uris: ["https://other.example/cb"],
    }),
  });
  await answer.body?.cancel();
  const { words } = await AccountVisitor.signIn(server, {
    as: "1",
    email: "root@example.com",
    at: "/attempts",
  });
  assert.match(words, /POST \/register Their app Failed/);
});

Deno.test("attemptRecorder() notes an error that a client got, and tells the log", async () => {
  const failure = "access_denied: The person said no";
  const { notes, refusal } = await recorded(
    to(
      `${BACK}?error=access_denied&error_description=The+person+said+no` +
        `&iss=${iss}`,
    ),
  );
  assert.deepEqual(notes, [{
    step: "GET /step",
    client: BACK,
    isStranger: false,
    failure,
  }]);
  assert.equal(refusal, failure);
});

Deno.test("attemptRecorder() notes nothing of a step that leads on", async () => {
  for (
    const end of [
      () => new Response("A page"),
      to("/oauth/callback"),
      to(`${BACK}?code=1`),
      to(`${BACK}?code=1&iss=https%3A%2F%2Fother.example.com`),
    ]
  ) {
    assert.deepEqual((await recorded(end)).notes, []);
  }
});

for (
  const [error, failure] of [
    [new OAuthError("invalid_request", "Wrong"), "invalid_request: Wrong"],
    [new HttpError(429, "Too many"), "429: Too many"],
    [new Error("a secret"), "Internal error: the log tells more"],
  ] as const
) {
  Deno.test(`attemptRecorder() notes ${error.name} as ${failure}, and passes it on`, async () => {
    const fail = () => {
      throw error;
    };
    const { notes, text } = await recorded(fail);
    assert.equal(text, String(error));
    assert.deepEqual(notes, [{
      step: "GET /step",
      client: undefined,
      isStranger: true,
      failure,
    }]);
  });
}

Deno.test("attemptRecorder() tells a client that is known from one that only says so", async () => {
  const fail = () => {
    throw new HttpError(429, "Too many");
  };
  const query = "?client_id=named";
  const named = await recorded(fail, { query });
  const known = await recorded(fail, { query, client: "Known" });
  const facts = ({ notes }: typeof named) => {
    const [{ client, isStranger }] = notes as [Record<string, unknown>];
    return [client, isStranger];
  };
  assert.deepEqual(facts(named), ["named", true]);
  assert.deepEqual(facts(known), ["Known", false]);
});

Deno.test("attemptRecorder() shortens an ID that carries its registration", async () => {
  const name = "a".repeat(22);
  const id = `${name}.${"b".repeat(1000)}`;
  const { notes } = await recorded(() => {
    throw new HttpError(429, "Too many");
  }, { query: `?client_id=${id}` });
  const [{ client }] = notes as [{ client: string }];
  assert.equal(client, name);
});
