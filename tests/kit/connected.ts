/**
 * A server whose tools act at a {@linkcode KeyService}, with clients of both
 * generations, and people who connect their accounts.
 *
 * @module
 */
import assert from "node:assert/strict";
import { tool, z } from "../../src/mod.ts";
import type { AccountService } from "../../src/authoring/account.ts";
import { LINKS_META } from "../../src/core/protocol/not_yet.ts";
import { AccountVisitor } from "./account_visitor.ts";
import { SECRETS_KEY, spelled } from "./key_service.ts";
import { type HeadersOf, type Json, rpc } from "./message.ts";
import { BASE_URL, type TestServer } from "./server.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "./sign_in.ts";

export const OPENS = { elicitation: { form: {}, url: {} } };
/** The capabilities of Codex and Claude Code. */
export const FORMS = { elicitation: {} };

/** Tools that need an account at one service, or at two. */
export function toolsOf(linear: AccountService, github?: AccountService) {
  return [
    tool({
      name: "who",
      needs: { linear },
      async run(_input, { needs }) {
        const response = await needs.linear.fetch("/me");
        const name = await response.text();
        return `${response.status} ${name}`;
      },
    }),
    ...github
      ? [
        tool({
          name: "both",
          needs: { linear, github },
          run: async (_input, { needs }) => {
            const [one, two] = await Promise.all([
              needs.linear.reveal(),
              needs.github.reveal(),
            ]);
            return spelled(`${one} ${two}`);
          },
        }),
      ]
      : [],
    tool({
      name: "fetch",
      input: z.object({ path: z.string() }),
      needs: { linear },
      run: async ({ path }, { needs }) => {
        const response = await needs.linear.fetch(path);
        await response.body?.cancel();
        return `${response.status}`;
      },
    }),
  ];
}

/** Starts a server with these tools, and a key to seal with, or a `sealing`. */
export function startConnected(
  linear: AccountService,
  { environment, github, ...options }: OAuthServerOptions & {
    github?: AccountService;
  } = {},
): Promise<OAuthServer> {
  return startOAuthServer({
    tools: toolsOf(linear, github),
    ...options,
    environment: {
      SECRETS_KEYS: options.sealing ? undefined : SECRETS_KEY,
      ...environment,
    },
  });
}

export type Call = (
  name: string,
  input?: Json,
  more?: Json,
) => Promise<Response>;

/** Makes a client of a person that calls in one generation. */
export async function clientOf(
  server: OAuthServer,
  generation: "2025" | "2026",
  { as = "42", capabilities = FORMS }: { as?: string; capabilities?: Json } =
    {},
): Promise<Call> {
  server.provider.subject = as;
  const { headers } = await server.person();
  return await callBy(server, generation, headers, capabilities);
}

/** Makes a client with these headers. */
export async function callBy(
  server: TestServer,
  generation: "2025" | "2026",
  headers: HeadersOf,
  capabilities: Json = FORMS,
): Promise<Call> {
  if (generation === "2026") {
    return (name, input = {}, more = {}) =>
      server.call("tools/call", { name, arguments: input, ...more }, {
        headers,
        capabilities,
      });
  }
  const session = await server.openSession({ headers, capabilities });
  return (name, input = {}) =>
    session.post(rpc("tools/call", { name, arguments: input }));
}

/** Opens a page as a person, who signs in where they must. */
export async function openConnect(
  server: OAuthServer,
  { link = `${BASE_URL}/connect/linear`, ...options }: {
    link?: string;
    as?: string;
    issuers?: readonly string[];
  } = {},
): Promise<AccountVisitor> {
  const visitor = await AccountVisitor.signIn(server, options);
  visitor.page = await visitor.browser.open(link);
  return visitor;
}

/** Pastes a key, and confirms the account that the service names. */
export async function connect(
  visitor: AccountVisitor,
  key: string,
  fields: Record<string, string> = {},
): Promise<AccountVisitor> {
  const path = new URL(visitor.page.url).pathname;
  await visitor.press(path, { answer: "connect", key, ...fields });
  if (visitor.page.text.includes('name="checked"')) {
    await visitor.press(path, { answer: "connect" });
  }
  return visitor;
}

/** Reads the one address that a result tells the model. */
export function linkOf({ content, isError, _meta }: Json, nth = 0): string {
  assert.equal(isError, true, JSON.stringify(content));
  const links = content[0].text.match(/^http\S*$/gm) ?? [];
  assert.deepEqual(_meta?.[LINKS_META]?.map(({ url }: Json) => url), links);
  return links[nth];
}
