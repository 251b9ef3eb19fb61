import assert from "node:assert/strict";
import * as z from "zod";
import {
  needsOf,
  type Service,
  service,
} from "../../../src/authoring/service.ts";

const start = () => 0;

Deno.test("needsOf() collects settings of definitions and of their services, once", () => {
  const KEY = z.string();
  const inner = service({ name: "inner", settings: { INNER: z.url() }, start });
  const pool = service({ name: "pool", services: { inner }, start });
  const { settings, services, complaints } = needsOf([
    { name: "a", settings: { KEY }, services: { pool } },
    { name: "b", settings: { KEY }, services: { pool, inner } },
  ]);
  assert.deepEqual([...settings.keys()], ["KEY", "INNER"]);
  assert.deepEqual(services.map(({ name }) => name), ["inner", "pool"]);
  assert.deepEqual(complaints, []);
});

Deno.test("needsOf() complains of two schemas for one variable", () => {
  const { complaints } = needsOf([
    { name: "a", settings: { KEY: z.string() } },
    { name: "b", settings: { KEY: z.string() } },
  ]);
  assert.equal(complaints.length, 1);
  assert.match(complaints[0], /^b: the setting KEY is declared twice/);
});

for (const name of ["WEATHER-KEY", "1KEY", "A B", "", "A=B"]) {
  Deno.test(`needsOf() complains of a variable named ${JSON.stringify(name)}`, () => {
    const { complaints } = needsOf([
      { name: "a", settings: { [name]: z.string() } },
    ]);
    assert.equal(complaints.length, 1);
  });
}

Deno.test("needsOf() complains of services that need each other", () => {
  const first: Service<unknown> = { kind: "service", name: "first", start };
  const second = service({ name: "second", services: { first }, start });
  Object.assign(first, { services: { second } });
  const { complaints } = needsOf([{ name: "a", services: { first } }]);
  assert.deepEqual(complaints, [
    "services need each other: first -> second -> first",
  ]);
});
