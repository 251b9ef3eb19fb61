import assert from "node:assert/strict";
import { needsOf, service } from "../../../src/authoring/service.ts";
import {
  Lifecycle,
  provideNeeds,
  ServiceError,
} from "../../../src/core/server/lifecycle.ts";
import { silentLogger } from "../../kit/log.ts";
import { telemetry } from "../../../src/core/telemetry/current.ts";
import { registerCollector } from "../../kit/collecting.ts";
import type { Context } from "../../../src/authoring/context.ts";
import { prompt } from "../../../src/authoring/prompt.ts";
import { resource } from "../../../src/authoring/resource.ts";
import { tool } from "../../../src/authoring/tool.ts";

/**
 * Makes two services, the second of which needs the first, with a record of
 * their events.
 */
function twoServices(startSecond: () => unknown = () => 2) {
  const events: string[] = [];
  const first = service({
    name: "first",
    start: () => (events.push("start first"), 1),
    stop: (value) => void events.push(`stop first ${value}`),
  });
  const second = service({
    name: "second",
    services: { first },
    start({ services }) {
      events.push(`start second after ${services.first}`);
      return startSecond();
    },
    stop: (value) => void events.push(`stop second ${value}`),
  });
  const needing = { name: "a", services: { second, mine: first } };
  const { services } = needsOf([needing]);
  const lifecycle = new Lifecycle(services, {}, silentLogger);
  return { events, lifecycle, needing };
}

Deno.test("Lifecycle starts in order, once, and stops in reverse, once", async () => {
  const { events, lifecycle, needing } = twoServices();
  assert.equal(lifecycle.hasStarted, false);
  await Promise.all([lifecycle.start(), lifecycle.start()]);
  assert.equal(lifecycle.hasStarted, true);
  assert.deepEqual(lifecycle.provide(needing), {
    settings: {},
    services: { second: 2, mine: 1 },
  });
  await lifecycle.stop();
  await lifecycle.stop();
  assert.deepEqual(events, [
    "start first",
    "start second after 1",
    "stop second 2",
    "stop first 1",
  ]);
});

Deno.test("Lifecycle names the service that does not start, and tries that one again", async () => {
  let attempts = 0;
  const { events, lifecycle } = twoServices(() => {
    if (++attempts === 1) throw new Error("no connection");
    return 2;
  });
  await assert.rejects(lifecycle.start(), (error) => {
    assert(error instanceof ServiceError);
    assert.equal(
      error.message,
      "The service second did not start: no connection",
    );
    return true;
  });
  assert.equal(lifecycle.hasStarted, false);
  await lifecycle.start();
  assert.equal(lifecycle.hasStarted, true);
  const starts = events.filter((event) => event === "start first");
  assert.equal(starts.length, 1, "what has started is not started again");
  await lifecycle.stop();
});

Deno.test("Lifecycle tells what a service threw that is no error", async () => {
  const { lifecycle } = twoServices(() => Promise.reject("no connection"));
  await assert.rejects(
    lifecycle.start(),
    /^ServiceError: The service second did not start: no connection$/,
  );
  await lifecycle.stop();
});

Deno.test("Lifecycle stops what has started when the rest did not", async () => {
  const { events, lifecycle } = twoServices(() => {
    throw new Error("no connection");
  });
  await assert.rejects(lifecycle.start());
  await lifecycle.stop();
  assert.equal(events.at(-1), "stop first 1");
});

Deno.test("Lifecycle goes on stopping when one does not stop", async () => {
  const events: string[] = [];
  const first = service({
    name: "first",
    start: () => 1,
    stop: () => void events.push("stopped"),
  });
  const second = service({
    name: "second",
    services: { first },
    start: () => 2,
    stop: () => Promise.reject(new Error("stuck")),
  });
  const { services } = needsOf([{ name: "a", services: { second } }]);
  const lifecycle = new Lifecycle(services, {}, silentLogger);
  await lifecycle.start();
  await lifecycle.stop();
  assert.deepEqual(events, ["stopped"]);
});

Deno.test("Lifecycle without services has started from the beginning", () => {
  assert.equal(new Lifecycle([], {}, silentLogger).hasStarted, true);
});

Deno.test("Lifecycle begins telemetry where someone collects it, without services too", async () => {
  using _ = registerCollector();
  const lifecycle = new Lifecycle([], {}, silentLogger);
  assert.equal(lifecycle.hasStarted, false);
  await lifecycle.start();
  assert.equal(lifecycle.hasStarted, true);
  assert.notEqual(telemetry, undefined);
});

const one = service({ name: "one", start: () => 1 });
const two = service({ name: "two", start: () => 2 });

/** Starts a lifecycle, with a record of its requests. */
async function started() {
  const lifecycle = new Lifecycle([one, two], {}, silentLogger);
  await lifecycle.start();
  const provide = lifecycle.provide.bind(lifecycle);
  const asked: string[] = [];
  lifecycle.provide = (definition) => {
    asked.push(definition.name);
    return provide(definition);
  };
  return { lifecycle, asked };
}

const newContext = () => ({}) as Context;

Deno.test("provideNeeds() gives each definition what it declared, and looks it up once", async () => {
  const { lifecycle, asked } = await started();
  const { tools, resources, prompts } = provideNeeds({
    tools: [
      tool({
        name: "tool",
        services: { mine: one },
        prepare: (_input, { services }) => services.mine,
        run: (_input, { services }, prepared) => `${prepared}${services.mine}`,
      }),
      tool({
        name: "other",
        services: { mine: two },
        run: (_input, { services }) => `${services.mine}`,
      }),
    ],
    resources: [
      resource({
        uri: "note://1",
        name: "resource",
        services: { mine: two },
        read: (_variables, { services }) => `${services.mine}`,
      }),
    ],
    prompts: [
      prompt({
        name: "prompt",
        services: { mine: one },
        get: (_args, { services }) => `${services.mine}`,
      }),
    ],
  }, lifecycle);
  const [first, other] = tools!;
  for (let count = 0; count < 2; count++) {
    const prepared = await first.prepare!({}, newContext());
    assert.equal(prepared, 1);
    assert.equal(await first.run({}, newContext(), prepared), "11");
    assert.equal(other.prepare, undefined);
    assert.equal(await other.run({}, newContext()), "2");
    assert.equal(await resources![0].read({}, newContext()), "2");
    assert.equal(await prompts![0].get({}, newContext()), "1");
  }
  assert.deepEqual(asked, ["tool", "other", "resource", "prompt"]);
  await lifecycle.stop();
});

Deno.test("provideNeeds() leaves those alone that declared nothing", async () => {
  const { lifecycle } = await started();
  const given = tool({ name: "tool", run: () => "" });
  const { tools, resources, prompts } = provideNeeds(
    { tools: [given] },
    lifecycle,
  );
  assert.equal(tools![0], given);
  assert.deepEqual([resources, prompts], [[], []]);
  await lifecycle.stop();
});
