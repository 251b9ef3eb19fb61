import assert from "node:assert/strict";
import * as z from "zod";
import {
  elicitationParams,
  FormError,
  parseAnswer,
} from "../../src/protocol/elicitation.ts";
import { refuses } from "./refuses.ts";

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
  refuses(() => parseAnswer(question, { action: "maybe" }), -32602);
});

Deno.test("elicitationParams() says in a form's message what was wrong before", () => {
  const mistake = new FormError("- name: too short");
  const { message } = elicitationParams(question, { stateless: true }, mistake);
  assert.equal(message, "Who?\n\nPlease correct:\n- name: too short");
});
