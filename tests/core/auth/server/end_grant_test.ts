import assert from "node:assert/strict";
import { DEFAULT_LIFETIMES } from "../../../../src/core/oauth/lifetimes.ts";
import { makeEndGrants } from "../../../../src/core/auth/grants/end_grant.ts";
import { bindingOf } from "../../../../src/core/oauth/grant.ts";
import { openGrant } from "../../../../src/core/oauth/new_grant.ts";
import { grantKey } from "../../../../src/core/kv/keys.ts";
import { now } from "../../../../src/core/clock.ts";
import { ISSUER, newClient, requestOf } from "../../../kit/records.ts";

const grant = openGrant(requestOf(newClient()), {
  lifetimes: DEFAULT_LIFETIMES,
  issuer: ISSUER,
  provider: "dev",
  identity: { subject: "42", name: "Jo" },
  clientName: "App",
  now: now(),
});

const other = { ...grant, id: "other" };

Deno.test("makeEndGrants() finds sessions and tasks before the grant is closed, by which they are found, once for all grants of a person", async () => {
  const steps: unknown[] = [];
  const endAllOf =
    (what: string) => (binding: string, grantIds: Set<string>) => {
      steps.push([`find ${what}`, binding, ...grantIds]);
      const end = () => steps.push(`end ${what}`);
      const tell = () => steps.push(`tell of ${what}`);
      return Promise.resolve(Object.assign(end, { write: end, report: tell }));
    };
  const end = makeEndGrants({
    database: { background: () => steps.push("take them out of the lists") },
    sessions: { closeAllOf: endAllOf("sessions") } as never,
    tasks: { cancelAllOf: endAllOf("tasks") } as never,
    grants: {
      close: (
        grantId: string,
        { extraWrites }: { extraWrites?: () => void },
      ) => {
        extraWrites?.();
        steps.push(["close", grantId]);
        return Promise.resolve();
      },
    } as never,
  });
  await end([grant, other].map((value) => ({
    key: grantKey(value.id),
    value,
    versionstamp: "1",
  })));
  const binding = bindingOf(grant);
  assert.deepEqual(steps, [
    ["find sessions", binding, grant.id, other.id],
    ["find tasks", binding, grant.id, other.id],
    "end sessions",
    ["close", grant.id],
    "tell of sessions",
    ["close", other.id],
    "end tasks",
    "take them out of the lists",
  ]);
});
