/** The test kit's answers to what tools ask. */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../../src/mod.ts";
import { eachRevision, type TestAnswers, testServer } from "../mod.ts";
import { interview } from "./tools.ts";

const ADA = { action: "accept", content: { name: "Ada" } } as const;

async function talk(answers?: TestAnswers) {
  const texts: string[] = [];
  await eachRevision(async (revision) => {
    await using server = await testServer({ tools: [interview], revision });
    const result = await server.call(interview, {}, { answers });
    assert.equal(result.progress.length, 1);
    texts.push(result.text);
  });
  assert.equal(texts[0], texts[1]);
  return texts[0];
}

Deno.test("answers are given in order, each by its question's kind", async () => {
  const answers = [ADA, "Hello, Ada", ["file:///a", { uri: "file:///b" }]];
  assert.equal(await talk(answers), "Hello, Ada file:///a,file:///b");
});

Deno.test("answers are found by a question's key or message", async () => {
  const answers = {
    "Your name?": ADA,
    "sampling-2": {
      model: "m",
      role: "assistant",
      content: { type: "text", text: "Hi" },
    } as const,
    "roots-3": [],
  };
  assert.equal(await talk(answers), "Hi ");
});

Deno.test("answers are found by the author's key in each revision", () =>
  eachRevision(async (revision) => {
    const schema = z.object({ sure: z.boolean() });
    const tools = ([undefined, "optional"] as const).map((task) =>
      tool({
        name: `book-${task}`,
        task,
        async run(_input, { ask }) {
          const answers = [];
          for (const key of ["sure", "really", undefined]) {
            answers.push(await ask({ message: "Book it?", key, schema }));
          }
          return JSON.stringify(answers.map(({ action }) => action));
        },
      })
    );
    await using server = await testServer({ tools, revision });
    for (const { name } of tools) {
      const { text, questions } = await server.call(name, {}, {
        answers: {
          sure: { action: "accept", content: { sure: true } },
          really: "decline",
          "Book it?": "cancel",
        },
      });
      assert.equal(text, '["accept","decline","cancel"]');
      assert.deepEqual(
        questions.slice(0, 2).map(({ key }) => key),
        ["sure", "really"],
      );
    }
  }));

Deno.test("answers may be a function of the question", async () => {
  const methods: string[] = [];
  const answers: TestAnswers = ({ method, message }) => {
    methods.push(`${method} ${message}`);
    return "decline";
  };
  assert.equal(await talk(answers), "decline");
  const asked = "elicitation/create Your name?";
  assert.deepEqual(methods, [asked, asked]);
});

for (const action of ["decline", "cancel"]) {
  Deno.test(`answers: ["${action}"] is all a person says`, async () => {
    assert.equal(await talk([action]), action);
  });
}

Deno.test("a question without an answer fails the test and is shown", async () => {
  for (const answers of [undefined, [], {}, () => undefined]) {
    await assert.rejects(
      talk(answers),
      /interview asked .* not answer[^]*create "Your name\?", key elicitation-1[^]*"properties":\{"name"[^]*answers: \[\{ action: "accept"/,
    );
  }
  await assert.rejects(talk([ADA]), /number 2:[^]*Greet Ada[^]*answers: \["/);
});

Deno.test("a question without an answer fails the test in 2025, too", async () => {
  await using server = await testServer({
    tools: [interview],
    revision: "2025-11-25",
  });
  await assert.rejects(server.call(interview), /Your name\?/);
});

Deno.test("an answer of another kind fails the test", async () => {
  await assert.rejects(talk(["perhaps"]), /"perhaps" does not answer/);
  await assert.rejects(talk([["a"]]), /does not answer/);
  await assert.rejects(talk([ADA, ADA]), /does not answer/);
  await assert.rejects(talk([ADA, "Hello", "a"]), /does not answer/);
});

Deno.test("a form that breaks its schema is asked again", async () => {
  await assert.rejects(
    talk([{ action: "accept", content: { name: 1 } }]),
    { name: "Error", message: /Please correct:.*name: Invalid/ },
  );
});

Deno.test("questions are what was asked", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ tools: [interview], revision });
    const { questions } = await server.call(interview, {}, {
      answers: ["cancel"],
    });
    assert.deepEqual(
      questions.map(({ key, method, message }) => [key, method, message]),
      [["elicitation-1", "elicitation/create", "Your name?"]],
    );
  }));

Deno.test("capabilities are all a client can do", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ tools: [interview], revision });
    const calling = server.call(interview, {}, { capabilities: {} });
    if (revision === "2025-11-25") {
      assert.match((await calling).text, /does not support elicitation/);
    } else await assert.rejects(calling, { code: -32021 });
  }));

Deno.test('"accept" leaves a form empty, and opens a page', () =>
  eachRevision(async (revision) => {
    const pay = tool({
      name: "pay",
      async run(_input, { ask }) {
        const tip = z.object({ tip: z.number().default(1) });
        const form = await ask({ message: "A tip?", schema: tip });
        const page = await ask({ message: "Pay", url: "https://pay.test/" });
        return JSON.stringify([form, page]);
      },
    });
    await using server = await testServer({ tools: [pay], revision });
    const { text } = await server.call(pay, {}, {
      answers: { "A tip?": "accept", Pay: "accept" },
    });
    assert.deepEqual(JSON.parse(text), [
      { action: "accept", content: { tip: 1 } },
      { action: "accept" },
    ]);
  }));
