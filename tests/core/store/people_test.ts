import assert from "node:assert/strict";
import type { Grant } from "../../../src/core/oauth/grant.ts";
import { openPersonalGrant } from "../../../src/core/oauth/new_grant.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { grantStore, setGrant } from "../../../src/core/store/grants.ts";
import { peopleStore } from "../../../src/core/store/people.ts";
import { test } from "../../kit/databases.ts";
import { ISSUER } from "../../kit/records.ts";

const NOW = 1_800_000_000;
const DAY = 24 * 60 * 60;

interface Known {
  name?: string;
  login?: string;
  email?: string;
}

/** A live grant of someone. */
function grantOf(subject: string, known: Known = {}, days = 90): Grant {
  return openPersonalGrant({
    issuer: ISSUER,
    resource: `${ISSUER}/mcp`,
    scopes: [],
    subject,
    identity: { subject: subject.split(":")[1], ...known },
    name: "Backup",
    seconds: days * DAY,
    now: NOW,
  });
}

function openOn(kv: Deno.Kv) {
  const place = { time: NOW };
  const database = new Database(kv, { clock: () => place.time * 1000 });
  const grants = grantStore(database);
  const people = peopleStore(database, grants);
  return {
    place,
    database,
    grants,
    people,
    save: (...some: Grant[]) =>
      database.commit((transaction) => {
        for (const grant of some) setGrant(transaction, grant);
      }),
    async find(search?: string, most = 100) {
      const { people: found } = await people.list({ search, most });
      return found.map(({ subject }) => subject);
    },
  };
}

const MANY = Array.from({ length: 250 }, (_, n) => String(n).padStart(3, "0"));

test.onDatabases("list() finds people by how subject, name, words of it, address and domain begin", async ({ kv }) => {
  const { save, find } = openOn(kv);
  await save(
    grantOf("github:583231", { login: "octocat", name: "The Octocat" }),
    grantOf("dev:7", {
      name: "José  García Márquez",
      email: "jgm@example.org",
    }),
    grantOf("dev:8", { name: "Jo\u202Ee Hidden" }),
  );
  const octocat = ["github:583231"];
  const jose = ["dev:7"];
  for (const search of ["github:583231", "583", "OCTO", "the", "the oct"]) {
    assert.deepEqual(await find(search), octocat, search);
  }
  for (
    const search of ["jose", "JOSÉ", "garcia", "marquez jo", "jgm@", "example"]
  ) {
    assert.deepEqual(await find(search), jose, search);
  }
  assert.deepEqual(await find("joe"), ["dev:8"]);
  assert.deepEqual((await find("jo")).sort(), ["dev:7", "dev:8"]);
  for (const search of ["cat", "octo garcia", "nobody", "583231x"]) {
    assert.deepEqual(await find(search), [], search);
  }
  // By what they are called: joe hidden, josé, octocat.
  assert.deepEqual(await find(), ["dev:8", "dev:7", "github:583231"]);
});

test.onDatabases("the end of a person's last grant leaves no name, address or word of theirs", async ({ kv }) => {
  const { save, find, grants } = openOn(kv);
  const known = {
    // More words than a commit of denokv takes checks.
    name: "Jo Anna Berta Cora Dora Emma Frida Gerda Hanna Ida Quince",
    login: "quincejo",
    email: "jo@quince.example",
  };
  const [first, last] = [grantOf("dev:7", known), grantOf("dev:7", known, 30)];
  await save(first, last, grantOf("dev:8", { name: "Ada" }));
  const stored = async () =>
    Deno.inspect(await Array.fromAsync(kv.list({ prefix: [] })), { depth: 9 });
  await grants.close(first.id);
  await grants.unlist([first]);
  assert.deepEqual(await find("quince"), ["dev:7"]);
  await grants.close(last.id);
  await grants.unlist([last]);
  assert.doesNotMatch(await stored(), /quince|anna|frida|gerda|\bida\b/i);
  assert.deepEqual(await find(), ["dev:8"]);
});

test.onDatabases("list() has every person once, page by page, however many there are", async ({ kv }) => {
  const { save, people } = openOn(kv);
  for (const n of MANY) {
    const known = { name: `Person ${n}`, email: `p${n}@example.org` };
    // Two lengths of life, and an older name.
    await save(
      grantOf(`dev:${n}`, known, 30),
      { ...grantOf(`dev:${n}`, known, 90), createdAt: NOW + 1 },
      { ...grantOf(`dev:${n}`, { name: `Before ${n}` }), createdAt: NOW - 1 },
    );
  }
  for (const search of [undefined, "p", "dev"]) {
    const seen: string[] = [];
    let pages = 0;
    for (let after, isLast = false; !isLast; pages++) {
      const page = await people.list({ search, after, most: 100 });
      assert(page.people.length <= 100);
      seen.push(...page.people.map(({ subject }) => subject));
      ({ next: after } = page);
      isLast = after === undefined;
    }
    assert.deepEqual(seen, MANY.map((n) => `dev:${n}`));
    assert.equal(pages, 3, "full pages until the last");
  }
});

test.onDatabases("list() has those only who have a live grant, and keeps no place of others", async ({ kv }) => {
  const { save, find, grants, database, place } = openOn(kv);
  const machine: Grant = { ...grantOf("client:ci"), kind: "client" };
  const pending: Grant = { ...grantOf("dev:2"), status: "pending" };
  const [ada, bob] = [grantOf("dev:ada"), grantOf("dev:bob", {}, 7)];
  await save(machine, pending, ada, bob);
  assert.deepEqual(await find(), ["dev:ada", "dev:bob"]);
  assert.deepEqual(await find("client:ci"), []);
  assert.deepEqual(await find("dev:2"), []);
  await grants.close(ada.id);
  assert.deepEqual(await find(), ["dev:bob"]);
  await database.idle();
  assert.deepEqual(await find("ada"), []);
  await database.idle();
  const words = await Array.fromAsync(kv.list({ prefix: ["person-word"] }));
  assert(words.every(({ key }) => key[1] !== "ada"));
  // A person who comes back is listed again.
  await save(grantOf("dev:ada"));
  assert.deepEqual(await find("ada"), ["dev:ada"]);
  place.time += 8 * DAY;
  assert.deepEqual(await find(), ["dev:ada"]);
});

test.inMemory("list() has a person whose many grants have ended but for one", async ({ kv }) => {
  const { database, save, find } = openOn(kv);
  const live = grantOf("dev:ada");
  for (let n = 0; n < 600; n++) {
    const closed: Grant = { ...grantOf("dev:ada"), status: "closed" };
    await save({ ...closed, id: ` ${n}` });
  }
  await save({ ...live, id: "~" });
  assert.deepEqual(await find(), ["dev:ada"]);
  await database.idle();
  assert.deepEqual(await find("ada"), ["dev:ada"]);
});

test.onDatabases("a person is found by a new name from their next refresh on", async ({ kv }) => {
  const { find, grants, save } = openOn(kv);
  const grant = grantOf("dev:ada", { name: "Ada" });
  await save(grant);
  await grants.change(await grants.find(grant.id), (grant) => ({
    ...grant,
    identity: { ...grant.identity, name: "Countess" },
  }));
  assert.deepEqual(await find("count"), ["dev:ada"]);
  assert.deepEqual(await find(), ["dev:ada"]);
});
