import assert from "node:assert/strict";
import { prompt, type PromptAnswer } from "../../../../src/authoring/prompt.ts";
import type { Result } from "../../../../src/core/mcp/exchange/answer.ts";
import type { Call } from "../../../../src/core/mcp/exchange/call.ts";
import { getPrompt } from "../../../../src/core/mcp/methods/prompt_get.ts";
import { compileCatalogue } from "../../../../src/core/catalogue/catalogue.ts";
import { rejects } from "../../../kit/refuses.ts";

const MESSAGE = {
  role: "assistant",
  content: { type: "text", text: "Well?" },
} as const;

async function messagesOf(
  answer: PromptAnswer,
  name: unknown = "p",
): Promise<unknown> {
  const catalogue = compileCatalogue({
    prompts: [prompt({ name: "p", get: () => answer })],
  }, { serverInfo: { name: "s", version: "1" } });
  const call = {
    catalogue,
    printedLists: catalogue.stateless,
    params: { name },
    context: {},
  } as unknown as Call;
  const { result } = await getPrompt(call) as Result;
  return JSON.parse(result).messages;
}

Deno.test("getPrompt() gives a text as the user's message, and messages as they are", async () => {
  assert.deepEqual(await messagesOf("Well?"), [{ ...MESSAGE, role: "user" }]);
  assert.deepEqual(await messagesOf(MESSAGE), [MESSAGE]);
  assert.deepEqual(await messagesOf([MESSAGE, MESSAGE]), [MESSAGE, MESSAGE]);
});

Deno.test("getPrompt() refuses what is no name", async () => {
  for (const name of [null, 1, ["p"], "q"]) {
    await rejects(messagesOf("", name), -32602);
  }
});

Deno.test("getPrompt() tells an author whose prompt gives no messages", async () => {
  for (const answer of [undefined, null, 5, [null], { role: "user" }]) {
    await assert.rejects(messagesOf(answer as unknown as PromptAnswer), {
      name: "TypeError",
      message: "prompt p must give a text or messages",
    });
  }
});
