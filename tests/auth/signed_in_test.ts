import assert from "node:assert/strict";
import { Hono } from "@hono/hono";
import { signedInPeople } from "../../src/auth/signed_in.ts";
import { BASE_URL } from "../kit/server.ts";

Deno.test("signedInPeople() reads nothing for who sends no session's cookie", async () => {
  const read: string[] = [];
  const people = signedInPeople({
    baseUrl: BASE_URL,
    providers: { of: () => undefined },
    admins: [],
    blocked: [],
    accountSessions: {
      find(id: string) {
        read.push(id);
        return Promise.resolve(undefined);
      },
    } as never,
  });
  const app = new Hono();
  app.get("/", async (c) => c.json(await people.find(c) ?? null));
  const id = "s".repeat(43);
  for (const cookie of ["", "account=short", `account=${id}`]) {
    const response = await app.request("/", { headers: { cookie } });
    assert.equal(await response.json(), null);
  }
  assert.deepEqual(read, [id]);
});
