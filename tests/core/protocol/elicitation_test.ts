import assert from "node:assert/strict";
import * as z from "zod";
import {
  elicitationParams,
  FormError,
  lackedFor,
  parseAnswer,
} from "../../../src/core/protocol/elicitation.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { refuses } from "../../kit/refuses.ts";

const schema = z.object({
  name: z.string(),
  age: z.int().optional(),
  note: z.string().nullable().optional(),
  color: z.enum(["red", "blue"]).default("red"),
});
const question = { message: "Who?", schema };

function accept(content: unknown) {
  return parseAnswer(question, { action: "accept", content });
}

Deno.test("parseAnswer() takes null for a field that was left empty", () => {
  const content = { name: "Ada", age: null, note: null, color: null };
  assert.deepEqual(accept(content), {
    action: "accept",
    content: { name: "Ada", note: null, color: "red" },
  });
  const requestedSchema = { type: "object", properties: {} };
  assert.deepEqual(
    parseAnswer({ message: "?", requestedSchema }, {
      action: "accept",
      content: { a: null, b: 1 },
    }),
    { action: "accept", content: { b: 1 } },
  );
});

Deno.test("parseAnswer() takes no inherited function for a field that is absent", () => {
  const schema = z.object({ constructor: z.string().optional() });
  for (const content of [{}, { constructor: "a" }]) {
    const answer = parseAnswer({ message: "?", schema }, {
      action: "accept",
      content,
    });
    assert.deepEqual(answer, { action: "accept", content });
  }
});

Deno.test("parseAnswer() names the fields of a form that does not match", () => {
  for (
    const [content, issues] of [
      [{ name: null }, /^- name: .*$/],
      [{ name: 1, age: "old" }, /^- name: .*\n- age: .*$/],
      [{ constructor: null }, /^- name: .*$/],
    ] as const
  ) {
    assert.throws(() => accept(content), (error) => {
      assert.ok(error instanceof FormError);
      assert.match(error.issues, issues);
      return true;
    });
  }
});

Deno.test("parseAnswer() refuses what is no answer", () => {
  refuses(() => accept(undefined), -32602);
  refuses(() => accept([]), -32602);
  refuses(() => parseAnswer(question, {}), -32602);
});

Deno.test("elicitationParams() says in a form's message what was wrong before", () => {
  const mistake = new FormError("- name: too short");
  const { message } = elicitationParams(question, { stateless: true }, mistake);
  assert.equal(message, "Who?\n\nPlease correct:\n- name: too short");
});

Deno.test("elicitationParams() asks with a form, a form of the author's own, or a page", () => {
  const form = { mode: "form", message: "Who?" };
  const optional = z.object({ age: z.int().optional() });
  const asked = elicitationParams({ message: "Who?", schema: optional }, {
    stateless: true,
  });
  const { requestedSchema, ...rest } = asked as {
    requestedSchema: Record<string, unknown>;
  };
  assert.deepEqual(rest, form);
  assert.deepEqual(Object.keys(requestedSchema), ["type", "properties"]);
  assert.deepEqual(
    (elicitationParams(question, { stateless: true })
      .requestedSchema as Record<string, unknown>).required,
    ["name"],
  );
  const own = { type: "object" as const, properties: {} };
  assert.deepEqual(
    elicitationParams({ message: "Who?", requestedSchema: own }, {
      stateless: true,
    }),
    { ...form, requestedSchema: own },
  );
});

Deno.test("elicitationParams() names a page's elicitation to 2025 clients only", () => {
  const page = { message: "Pay", url: "https://pay.example.com/1" };
  assert.deepEqual(elicitationParams(page, { stateless: true }), {
    mode: "url",
    ...page,
  });
  const { elicitationId, ...rest } = elicitationParams(page, {
    stateless: false,
  });
  assert.deepEqual(rest, { mode: "url", ...page });
  assert.match(String(elicitationId), /^[\w-]{22}$/);
});

Deno.test("parseAnswer() takes a no of either kind, and a page's yes without content", () => {
  for (const action of ["decline", "cancel"]) {
    assert.deepEqual(parseAnswer(question, { action, content: {} }), {
      action,
    });
  }
  const page = { message: "Pay", url: "https://pay.example.com/1" };
  assert.deepEqual(parseAnswer(page, { action: "accept" }), {
    action: "accept",
    content: undefined,
  });
  const content = { name: "Ada" };
  refuses(() => parseAnswer(question, { action: "maybe", content }), -32602);
});

Deno.test("lackedFor() goes by what a client declared", () => {
  const lacked = (capabilities: JsonObject, method: string, params = {}) =>
    lackedFor({ method, params }, { capabilities, revision: "2026-07-28" });
  const ask = "elicitation/create";
  const url = { mode: "url" };
  const form = { mode: "form" };
  const noForm = { elicitation: { form: {} } };
  const noUrl = { elicitation: { url: {} } };
  assert.deepEqual(lacked({}, ask), noForm);
  assert.deepEqual(lacked({}, ask, form), noForm);
  assert.deepEqual(lacked({}, ask, url), noUrl);
  assert.equal(lacked({ elicitation: {} }, ask, form), undefined);
  assert.deepEqual(lacked({ elicitation: {} }, ask, url), noUrl);
  assert.deepEqual(lacked({ elicitation: { url: {} } }, ask, form), noForm);
  assert.equal(lacked({ elicitation: { url: {} } }, ask, url), undefined);
  const both = { elicitation: { url: {}, form: {} } };
  assert.equal(lacked(both, ask, form), undefined);
  const sample = "sampling/createMessage";
  const tools = { tools: [] };
  const noTools = { sampling: { tools: {} } };
  assert.deepEqual(lacked({}, sample), { sampling: {} });
  assert.equal(lacked({ sampling: {} }, sample), undefined);
  assert.deepEqual(lacked({ sampling: {} }, sample, tools), noTools);
  assert.equal(lacked(noTools, sample, tools), undefined);
  assert.deepEqual(lacked({}, "roots/list"), { roots: {} });
  assert.equal(lacked({ roots: {} }, "roots/list"), undefined);
});
