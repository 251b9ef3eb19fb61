import assert from "node:assert/strict";
import type { Context } from "../../src/authoring/context.ts";
import { prompt } from "../../src/authoring/prompt.ts";
import { resource } from "../../src/authoring/resource.ts";
import { service } from "../../src/authoring/service.ts";
import { tool } from "../../src/authoring/tool.ts";
import { Lifecycle } from "../../src/server/lifecycle.ts";
import { provideNeeds } from "../../src/server/provide.ts";
import { silentLogger } from "../kit/log.ts";

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
