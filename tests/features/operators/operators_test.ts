import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { grantStore, setGrant } from "../../../src/core/store/grants.ts";
import { statusOf } from "../../kit/answer.ts";
import { Client } from "../../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";

const SECRET = "s".repeat(32);
const ROOT = { as: "root", email: "root@example.com", at: "/people" };
const environment = {
  OAUTH_ADMINS: "root@example.com",
  OAUTH_CLIENTS: JSON.stringify([{
    client_id: "ci",
    client_secret_env: "OAUTH_CLIENT_SECRET_CI",
    scope: "mail:send",
    client_name: "Nightly build",
    grant_types: ["client_credentials"],
  }]),
  OAUTH_CLIENT_SECRET_CI: SECRET,
};
const tools = [
  tool({ name: "send", scopes: ["mail:send"], run: () => "sent" }),
];

/** Connects clients of someone's, and gives their tokens. */
async function connect(server: OAuthServer, as: string, times = 1) {
  server.provider.subject = as;
  server.provider.email = `${as}@example.com`;
  const clients: Client[] = [];
  const tokens = [];
  for (let count = 0; count < times; count++) {
    clients.push(
      await Client.register(server, { client_name: `App of ${as}` }),
    );
    tokens.push(await clients[count].connect());
  }
  return { client: clients[0], clients, tokens };
}

/** The rows of the table of people, without markup. */
async function peopleSeen(visitor: AccountVisitor, query = "") {
  const words = await visitor.look(`/people${query}`);
  return words.split(/Everyone\S+ connections/)[2].split("registrations")[0];
}

Deno.test("an operator finds people among all, and is told when a list is cut", async () => {
  await using server = await startOAuthServer({ environment, tools });
  await connect(server, "ada");
  const database = new Database(server.kv);
  const [one] = await grantStore(database).listOfSubject("github:ada");
  // As if 120 more had signed in.
  for (let n = 0; n < 120; n++) {
    const id = `p${String(n).padStart(3, "0")}`;
    const identity = { subject: id, name: `Person ${n}` };
    const { listedAs: _, ...grant } = one;
    await database.commit((transaction) =>
      setGrant(transaction, {
        ...grant,
        id: `grant-${n}`,
        subject: `github:${id}`,
        identity,
      })
    );
  }
  const visitor = await AccountVisitor.signIn(server, ROOT);
  const all = await peopleSeen(visitor);
  assert.match(all, /The first 100 of more: search, or go on/);
  assert.match(all, /Finds people by how their subject, name/);
  const [, next] = /people\?(after=[^"]*)"/.exec(visitor.page.text)!;
  assert.match(await peopleSeen(visitor, "?person=p119"), /github:p119/);
  const found = await peopleSeen(visitor, "?person=ada%40ex");
  assert.match(found, /github:ada/);
  assert.doesNotMatch(found, /github:p|of more/);
  const rest = await peopleSeen(visitor, `?${next}`);
  assert.match(rest, /The next 21/);
  assert.doesNotMatch(rest, /of more/);
  assert.match(
    await visitor.look("/calls"),
    /Calls of machines and of the first people of the list, who are not all/,
  );
});

Deno.test("an operator ends everything of a person, and no one else does", async () => {
  await using server = await startOAuthServer({ environment, tools });
  const eve = await connect(server, "eve", 30);
  const bob = await connect(server, "bob");
  const victim = await AccountVisitor.signIn(server, {
    as: "eve",
    email: "eve@example.com",
  });
  for (const name of ["backup", "calendar"]) {
    await victim.makeToken({ name });
  }
  const operator = await AccountVisitor.signIn(server, ROOT);
  await operator.look("/people?person=eve");
  assert.match(operator.words, /The newest 20 of 32/);
  const after = await operator.press("/account/end");
  assert.equal(after.status, 200);
  assert.match(
    operator.words,
    /Ended everything of Jo github:eve \(32 sign-ins and tokens\)\./,
  );
  assert.deepEqual(
    await grantStore(new Database(server.kv)).listOpen("github:eve"),
    [],
  );
  const { refresh_token } = eve.tokens[17];
  assert.equal((await eve.clients[17].refresh(refresh_token)).status, 400);
  assert.equal(
    (await bob.client.refresh(bob.tokens[0].refresh_token)).status,
    200,
  );
  assert.match(await victim.look(), /Sign in with/, "signed out everywhere");
  // A person has no such form, and may not send one either.
  await bob.client.connect();
  const person = await AccountVisitor.signIn(server, {
    as: "bob",
    email: "bob@example.com",
  });
  const answer = await person.press("/account/end", { subject: "github:root" });
  assert.equal(answer.status, 403);
});

Deno.test("an operator sees machines apart from people, and ends their tokens", async () => {
  await using server = await startOAuthServer({ environment, tools });
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: "ci",
    client_secret: SECRET,
  });
  for (let count = 0; count < 3; count++) {
    assert.equal(
      await statusOf(server.fetch("/token", { method: "POST", body })),
      200,
    );
  }
  await connect(server, "ada");
  const operator = await AccountVisitor.signIn(server, ROOT);
  assert.doesNotMatch(await peopleSeen(operator), /Nightly build/);
  await operator.look("/clients");
  const machines = () => operator.words.split(" Machines ")[1];
  assert.match(machines(), /“ Nightly build ” client:ci 3 /);
  await operator.press("/account/end", { subject: "client:ci" });
  assert.match(machines(), /client:ci 0 None is alive/);
  await operator.look("/people");
  const odd = await operator.press("/account/end", { subject: "%zz" });
  assert.equal(odd.status, 400);
});

Deno.test("an operator is told where a person or a machine has more than were counted", async () => {
  await using server = await startOAuthServer({ environment, tools });
  await connect(server, "ada");
  const database = new Database(server.kv);
  const [one] = await grantStore(database).listOfSubject("github:ada");
  const { listedAs: _, ...grant } = one;
  for (let n = 0; n < 120; n++) {
    await database.commit((transaction) => {
      setGrant(transaction, {
        ...grant,
        id: `person-${n}`,
        clientId: `app-${n}`,
      });
      setGrant(transaction, {
        ...grant,
        id: `machine-${n}`,
        kind: "client",
        clientId: "ci",
        subject: "client:ci",
      });
    });
  }
  const operator = await AccountVisitor.signIn(server, ROOT);
  assert.match(await peopleSeen(operator), /The newest 20 of \d+ or more/);
  assert.match(await operator.look("/clients"), /client:ci \d+ or more/);
});

Deno.test("an operator sees the characters that others would hide", async () => {
  await using server = await startOAuthServer({ environment, tools });
  await connect(server, "ad\u202Ea");
  const operator = await AccountVisitor.signIn(server, ROOT);
  assert.match(operator.page.text, /github:ad\\u202ea/);
  assert.doesNotMatch(operator.page.text, /\u202E/);
  const after = await operator.press("/account/end");
  assert.match(after.text, /\(1 sign-in or token\)/);
});

Deno.test("POST /account/tokens makes fifty at most, however many are asked for at once", async () => {
  await using server = await startOAuthServer({ environment, tools });
  const visitor = await AccountVisitor.signIn(server, { as: "ada" });
  const { page } = await visitor.openFresh("/tokens");
  const form = formOf(page, "/account/tokens");
  const all = await Promise.all(
    Array.from(
      { length: 70 },
      (_, n) =>
        visitor.browser.press(form, "name", `token ${n}`, { days: "30" }),
    ),
  );
  assert.equal(all.filter(({ status }) => status === 200).length, 50);
  assert.equal(all.filter(({ status }) => status === 409).length, 20);
  const held = await grantStore(new Database(server.kv))
    .listOfSubject("github:ada");
  assert.equal(held.length, 50);
});

Deno.test("an operator sees the first page where a link names no place of the list", async () => {
  await using server = await startOAuthServer({ environment, tools });
  await connect(server, "ada");
  const operator = await AccountVisitor.signIn(server, ROOT);
  for (const text of ["\u{10ffff}\u{10ffff}", "zzz&person=ada"]) {
    const after = "A".repeat(16) + text;
    assert.match(await peopleSeen(operator, `?after=${after}`), /App of ada/);
  }
});
