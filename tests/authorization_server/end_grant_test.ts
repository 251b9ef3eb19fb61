import assert from "node:assert/strict";
import { grantEnd } from "../../src/authorization_server/end_grant.ts";
import { bindingOf, openGrant } from "../../src/oauth/grant.ts";
import { now } from "../../src/clock.ts";
import { ISSUER, newClient, requestOf } from "../store/fixture.ts";

const grant = openGrant(requestOf(newClient()), {
  issuer: ISSUER,
  provider: "dev",
  identity: { subject: "42", name: "Jo" },
  clientName: "App",
  now: now(),
});

Deno.test("grantEnd() ends sessions and tasks before the grant, by which they are found", async () => {
  const ended: unknown[] = [];
  const endAllOf = (what: string) => (binding: string, grantId: string) => {
    ended.push([what, binding, grantId]);
    const tell = () => ended.push([`told of ${what}`]);
    return Promise.resolve({ write: () => {}, tell });
  };
  const end = grantEnd({
    sessions: { endAllOf: endAllOf("sessions") } as never,
    tasks: { endAllOf: endAllOf("tasks") } as never,
    grants: {
      close: (grantId: string) => {
        ended.push(["grant", grantId]);
        return Promise.resolve();
      },
    } as never,
  });
  await end(grant);
  const binding = bindingOf(grant);
  assert.deepEqual(ended, [
    ["sessions", binding, grant.id],
    ["tasks", binding, grant.id],
    ["grant", grant.id],
    ["told of sessions"],
  ]);
});
