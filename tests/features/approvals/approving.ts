/**
 * Clients whose calls wait for an approval, and the people who press.
 *
 * @module
 */
import assert from "node:assert/strict";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf } from "../../kit/answer.ts";
import { type HeadersOf, type Json, rpc } from "../../kit/message.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";

/** The capabilities of Codex and Claude Code. */
export const FORMS = { elicitation: {} };
export const OPENS = { elicitation: { form: {}, url: {} } };

/** A call that waits for its caller, as the store of approvals gets it. */
export const CALL = {
  subject: "ann",
  kind: "approval",
  tool: "pay",
  asker: "a",
  question: "q",
  approval: { seconds: 600 },
} as const;

/** The page of {@linkcode CALL}. */
export const PAYLOAD = {
  id: "x",
  input: {},
  title: "Pay",
  facts: {},
  accounts: [],
  definition: "",
  caller: { name: "ann", account: "ann", addresses: [] },
};

export type Call = (
  name: string,
  input?: Json,
  more?: Json,
) => Promise<Response>;

/** A client of a person that calls in one generation. */
export async function clientOf(
  server: OAuthServer,
  generation: "2025" | "2026",
  { as = "42", capabilities = FORMS }: { as?: string; capabilities?: Json } =
    {},
): Promise<Call> {
  server.provider.subject = as;
  const { headers } = await server.person();
  if (generation === "2026") {
    return (name, input = {}, more = {}) =>
      server.call("tools/call", { name, arguments: input, ...more }, {
        headers,
        capabilities,
      });
  }
  const { headers: session } = await server.openSession({
    headers,
    capabilities,
  });
  return (name, input = {}) =>
    server.post(rpc("tools/call", { name, arguments: input }), session);
}

/** Reads the one address that a result tells the model. */
export function linkOf({ content, isError }: Json): string {
  assert.equal(isError, true, JSON.stringify(content));
  const [link] = content[0].text.match(/^http\S*$/m) ?? [];
  assert.match(
    String(link),
    /^http:\/\/127\.0\.0\.1:3000\/approve\/[\w-]{43}$/,
    content[0].text,
  );
  return link;
}

/** Calls a tool as a task, and reads the task until it has a link or has ended. */
export async function followTask(
  server: OAuthServer,
  { headers, name, input = {} }: {
    headers: HeadersOf;
    name: string;
    input?: Json;
  },
): Promise<Json> {
  const options = { headers, capabilities: { ...FORMS, ...TASKS } };
  const params = { name, arguments: input };
  const { taskId } = await resultOf(server.call("tools/call", params, options));
  let task: Json = {};
  await until(async () => {
    task = await resultOf(server.call("tasks/get", { taskId }, options));
    return task.status !== "working" ||
      /\/approve\//.test(task.statusMessage ?? "");
  });
  return task;
}

/** Opens a link as a person, who signs in where they must. */
export async function open(
  server: OAuthServer,
  link: string,
  as = "42",
): Promise<AccountVisitor> {
  const visitor = await AccountVisitor.signIn(server, { as });
  visitor.page = await visitor.browser.open(link);
  return visitor;
}

/** Presses a button of the page. */
export function press(visitor: AccountVisitor, answer: string, reason = "") {
  return visitor.press(new URL(visitor.page.url).pathname, { answer, reason });
}
