/** The questions of a server at a terminal, without one. */
import assert from "node:assert/strict";
import { answer } from "../questions.ts";

/** Answers one field with lines. Returns what was asked, told and answered. */
async function fill(
  { isOptional = false, ...field }: Record<string, unknown>,
  ...lines: string[]
) {
  const shown: string[] = [];
  const terminal = {
    ask(words: string) {
      shown.push(words);
      return Promise.resolve(lines.shift());
    },
    report: (words: string) => void shown.push(words),
  };
  const requestedSchema = {
    type: "object",
    properties: { a: field },
    required: isOptional ? [] : ["a"],
  };
  const answered = await answer(
    { method: "elicitation/create", params: { requestedSchema } },
    terminal,
    new AbortController().signal,
  );
  const { content } = answered as { content?: { a: unknown } };
  return { a: content?.a, answered, shown };
}

Deno.test("answer() asks for yes or no, and takes them as people write them", async () => {
  for (const line of ["yes", "Y", "TRUE", "true", " Yes "]) {
    assert.equal((await fill({ type: "boolean" }, line)).a, true);
  }
  for (const line of ["no", "N", "False", "false"]) {
    assert.equal((await fill({ type: "boolean" }, line)).a, false);
  }
  const { a, shown } = await fill(
    { type: "boolean", title: "sure", default: true },
    "perhaps",
    "",
  );
  assert.equal(a, true);
  assert.deepEqual(shown.slice(-3), [
    "sure (yes or no, yes if left out):",
    'a: got "perhaps", wants yes or no',
    "sure (yes or no, yes if left out):",
  ]);
});

Deno.test("answer() takes yes for a field that has to be true, and no as a refusal", async () => {
  for (
    const field of [
      { type: "boolean", const: true },
      { type: "boolean", enum: [true] },
      { const: true },
    ]
  ) {
    const { a, shown } = await fill(field, "maybe", "yes");
    assert.equal(a, true);
    assert.equal(shown.at(-1), "a (yes or no):");
    assert.deepEqual((await fill(field, "no")).answered, { action: "decline" });
    assert.deepEqual(
      (await fill({ ...field, isOptional: true }, "no")).answered,
      {
        action: "accept",
        content: {},
      },
    );
  }
});

Deno.test("answer() says which key does what", async () => {
  const asked = async (params: Record<string, unknown>, line: string) => {
    const shown: string[] = [];
    const terminal = {
      ask(words: string) {
        shown.push(words);
        return Promise.resolve(line);
      },
      report: () => {},
    };
    const { signal } = new AbortController();
    const question = { method: "elicitation/create", params };
    const { action } = await answer(question, terminal, signal);
    return [...shown, action];
  };
  assert.deepEqual(await asked({ mode: "url", url: "https://a.example" }, ""), [
    "Press Enter once it is done there, or type no to decline:",
    "accept",
  ]);
  for (
    const [line, action] of [
      ["no", "decline"],
      [" N ", "decline"],
      ["/decline", "decline"],
      ["/cancel", "cancel"],
    ]
  ) {
    const page = { mode: "url", url: "https://a.example" };
    assert.equal((await asked(page, line)).at(-1), action, line);
  }
  assert.deepEqual(await asked({ requestedSchema: {} }, "no"), [
    "Press Enter to agree, or type no to decline:",
    "decline",
  ]);
});

for (
  const [field, words] of [
    [{ type: "integer", minimum: 1, maximum: 5 }, "integer from 1 to 5"],
    [{ type: "number", minimum: 0 }, "number of at least 0"],
    [{ type: "number", maximum: 0.5 }, "number of at most 0.5"],
    [{ type: "integer", maximum: Number.MAX_SAFE_INTEGER }, "integer"],
    [{ type: "string", minimum: 1 }, "string"],
  ] as [Record<string, unknown>, string][]
) {
  Deno.test(`answer() asks for ${JSON.stringify(field)} with its bounds`, async () => {
    const { shown } = await fill(field, "/cancel");
    assert.equal(shown.at(-1), `a (${words}):`);
  });
}
