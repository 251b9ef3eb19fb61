/** Services whose keys people paste, and the tools that need them. */
import assert from "node:assert/strict";
import type { AccountService } from "../../../src/authoring/account.ts";
import { faultsIn } from "../../../src/authoring/options.ts";
import { DEFINITIONS } from "../../../src/core/catalogue/compiled_definitions.ts";
import { personalKey, prompt, resource, tool, z } from "../../../src/mod.ts";
import { testServer } from "../../../packages/testing/mod.ts";

const api = "https://notes.example";

const needing = (service: AccountService) =>
  faultsIn(DEFINITIONS, {
    tools: [tool({ name: "a", needs: { service }, run: () => "" })],
  });

Deno.test("personalKey() takes a short name and the https address of an API", () => {
  for (const name of ["", "A", "a b", "../x", "-a", "a".repeat(41)]) {
    assert.equal(needing(personalKey(name, { api })).length, 1, name);
  }
  const addresses = [
    "notes.example",
    "http://notes.example",
    "https://a:b@notes.example",
    "https://notes.example/?a",
    "https://notes.example/#a",
  ];
  for (const wrong of addresses) {
    assert.equal(needing(personalKey("a", { api: wrong })).length, 1, wrong);
  }
  for (const wrong of [{ header: "x key" }, { scheme: "a\nb" }]) {
    assert.equal(needing(personalKey("a", { api, ...wrong })).length, 1);
  }
  const right = personalKey("a", { api: "http://localhost:1" });
  assert.deepEqual([right.name, ...needing(right)], ["a"]);
});

Deno.test("faults of needs are told at the start", async () => {
  const notes = personalKey("notes", { api, several: true });
  const mail = personalKey("mail", { api, several: true });
  const run = () => "";
  const input = z.object({ account: z.string() });
  const needs = { notes };
  const get = run, read = run;
  const faults: [Parameters<typeof testServer>[0], RegExp][] = [
    [
      {
        tools: [tool({ name: "a", needs, run })],
        prompts: [
          prompt({
            name: "b",
            needs: { n: personalKey("notes", { api }) },
            get,
          }),
        ],
      },
      /the service "notes" is declared twice/,
    ],
    [
      { prompts: [prompt({ name: "a", needs, args: input, get })] },
      /prompt a: its argument account must be called otherwise/,
    ],
    [
      { resources: [resource({ name: "a", uri: "a://{b}", needs, read })] },
      /resource a:\/\/\{b\}: .* its uri needs \{account\}/,
    ],
    [
      {
        resources: [
          resource({
            name: "a",
            uri: "a://{account}",
            cacheScope: "public",
            needs,
            read,
          }),
        ],
      },
      /what is read with a person's account cannot be public/,
    ],
    [
      { tools: [tool({ name: "a", needs: { notes, mail }, run })] },
      /tool a: it may need one service with several accounts only/,
    ],
    [
      { tools: [tool({ name: "a", needs, input, run })] },
      /tool a: its argument account must be called otherwise/,
    ],
  ];
  for (const [options, words] of faults) {
    await assert.rejects(testServer(options), words);
  }
});

Deno.test("context.needs has the declared names, and no others", () => {
  const notes = personalKey("notes", { api });
  tool({
    name: "typed",
    needs: { notes },
    run(_input, { needs }) {
      needs.notes.label?.length;
      // @ts-expect-error: it is not declared
      return needs.mail;
    },
  });
  prompt({
    name: "typed",
    needs: { notes },
    complete: {},
    get: (_args, { needs }) => `${needs.notes.label}`,
  });
  tool({
    name: "without",
    // @ts-expect-error: nothing is declared
    run: (_input, { needs }) => needs.notes,
  });
});
