/**
 * `needs` of a tool, a resource or a prompt: the services at which it uses its
 * caller's accounts. Adds the services to list entries, and the argument that
 * chooses one of several accounts.
 *
 * @module
 */
import * as z from "zod";
import type {
  AccountNeeds,
  AccountService,
  ConnectableService,
  UpstreamAccount,
} from "../../authoring/account.ts";
import { durableOf } from "../../authoring/durable.ts";
import type { Prompt } from "../../authoring/prompt.ts";
import type { Resource } from "../../authoring/resource.ts";
import type { CallToolResult, Tool } from "../../authoring/tool.ts";
import type { CatalogueAddition } from "../../core/catalogue/compiled_definitions.ts";
import type { JsonObject } from "../../core/json.ts";
import { parseUriTemplate } from "../../core/catalogue/uri_template.ts";

/** The argument, or URI template variable, that names the account. */
const ACCOUNT = "account";

/** The `_meta` member of a list entry that lists the needed services. */
const SERVICES = "tool-server/services";

/** The `_meta` member of a result that names the account that was used. */
const ACTED_AS = "tool-server/account";

/**
 * True for a service at which people connect accounts on this server's pages.
 */
export function isConnectable(
  service: AccountService,
): service is ConnectableService {
  return service.kind === "account" || service.kind === "personalKey";
}

/** True for a service whose tokens the sign-in provider issues. */
export function isUpstream(
  service: AccountService,
): service is UpstreamAccount {
  return service.kind === "upstreamAccount";
}

/**
 * Refuses services behind the sign-in provider for durable work, which outlasts
 * the sign-in.
 *
 * @throws {Error}
 */
function checkDurableNeeds(needs: AccountNeeds): void {
  const service = Object.values(needs).find(isUpstream);
  if (!service) return;
  throw new Error(
    `durable work outlasts the sign-in that opens ${service.name}: declare ` +
      "that with an issuer, so that people connect it",
  );
}

/** Makes the catalogue addition that checks and compiles `needs`. */
export function needsAddition(): CatalogueAddition {
  return {
    prepare: (item) => item.needs ? prepared(item, item.needs) : item,

    addDefinitions({ tools = [], resources = [], prompts = [] }, complaints) {
      const needs = [...tools, ...resources, ...prompts]
        .flatMap(({ needs }) => Object.values(needs ?? {}));
      for (const need of new Set(needs)) {
        if (needs.find(({ name }) => name === need.name) === need) continue;
        complaints.add(
          `the service "${need.name}" is declared twice. Declare it once, in ` +
            "a file that both import",
        );
      }
    },
    resources: [],
    select: () => ({ listed: [] }),
  };
}

/** Adds the account argument and the list of needed services to an item. */
function prepared<T extends Tool | Resource | Prompt>(
  item: T,
  needs: AccountNeeds,
): T {
  const services = Object.values(needs).map(({ name }) => name);
  const _meta = { [SERVICES]: services, ...item._meta };
  switch (item.kind) {
    case "tool":
      if (durableOf(item)) checkDurableNeeds(needs);
      return { ...item, _meta, input: withAccountArgument(needs, item.input) };
    case "prompt":
      return { ...item, _meta, args: withAccountArgument(needs, item.args) };
    case "resource":
      checkResourceNeeds(item);
      return { ...item, _meta };
  }
}

/**
 * True if a person may have several accounts at one of the services.
 *
 * @throws {Error} if that holds for two services: an account's name could then
 * belong to either
 */
export function hasSeveral(needs: AccountNeeds = {}): boolean {
  const several = Object.values(needs).filter((it) => it.several);
  if (several.length <= 1) return several.length === 1;
  throw new Error("it may need one service with several accounts only");
}

/**
 * Adds the argument that names one of a person's accounts. It has no enum,
 * because tool lists are the same for everyone.
 *
 * @throws {Error} if the tool has an argument of that name
 */
function withAccountArgument(
  needs: AccountNeeds,
  schema: z.ZodObject | undefined,
): z.ZodObject | undefined {
  if (!hasSeveral(needs)) return schema;
  const { shape } = schema ??= z.object({});
  if (ACCOUNT in shape) {
    throw new Error(`its argument ${ACCOUNT} must be called otherwise`);
  }
  const account = z.string().optional().describe(
    "The name of the person's account to act with, where they have several.",
  );
  return schema.safeExtend({ [ACCOUNT]: account });
}

/** Separates the account argument from the tool's own arguments. */
export function splitAccountArgument(
  needs: AccountNeeds | undefined,
  input: JsonObject,
): { account?: string; own: JsonObject } {
  if (!hasSeveral(needs)) return { own: input };
  const { account, ...own } = input as JsonObject & { account?: string };
  return { account, own };
}

/** @throws {Error} */
function checkResourceNeeds({ needs, uri, cacheScope }: Resource): void {
  if (cacheScope === "public") {
    throw new Error("what is read with a person's account cannot be public");
  }
  if (!hasSeveral(needs)) return;
  if (parseUriTemplate(uri).variables.includes(ACCOUNT)) return;
  throw new Error(
    `where a person may have several accounts, its uri needs {${ACCOUNT}}`,
  );
}

export function withAccountName(
  result: CallToolResult,
  as: string,
  hasOutput: boolean,
): CallToolResult {
  const { content, structuredContent, _meta } = result;
  const text = `This was done with the account ${as}.`;
  return {
    ...result,
    // If the tool has an output schema but no structured content, the text is
    // JSON and must not change.
    ...(!hasOutput || structuredContent !== undefined) && {
      content: [...content, { type: "text", text }],
    },
    _meta: { ..._meta, [ACTED_AS]: as },
  };
}
