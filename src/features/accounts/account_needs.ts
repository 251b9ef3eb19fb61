/**
 * The services at which a tool, a resource or a prompt acts with its caller's
 * own accounts: how lists name them, and the argument that names one of several
 * accounts.
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

/** The argument that names the account, and the variable of a resource. */
const ACCOUNT = "account";

/** The member of a list entry's `_meta` that has the services it needs. */
const SERVICES = "tool-server/services";

/** The member of a result's `_meta` that says as whom the tool has acted. */
const ACTED_AS = "tool-server/account";

/** True for a service at which people connect accounts on a page here. */
export function isConnectable(
  service: AccountService,
): service is ConnectableService {
  return service.kind === "account" || service.kind === "personalKey";
}

/** True for a service behind the sign-in provider. */
export function isUpstream(
  service: AccountService,
): service is UpstreamAccount {
  return service.kind === "upstreamAccount";
}

/**
 * Checks the services of durable work. The work goes on after the request that
 * began it, and so without the sign-in of that request.
 *
 * @throws {Error} for one behind the sign-in provider
 */
function checkDurableNeeds(needs: AccountNeeds): void {
  const service = Object.values(needs).find(isUpstream);
  if (!service) return;
  throw new Error(
    `durable work outlasts the sign-in that opens ${service.name}: declare ` +
      "that with an issuer, so that people connect it",
  );
}

/**
 * Makes the addition that checks and compiles the `needs` of a catalogue's
 * items.
 */
export function accountNeeds(): CatalogueAddition {
  return {
    prepare: (item) => item.needs ? prepared(item, item.needs) : item,

    /** Checks that a name of a service means one service everywhere. */
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

/** Adds to an item the services that it needs, and the choice of an account. */
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
 * @throws {Error} if a person may have several at two services: one name could
 * mean an account at either
 */
export function hasSeveral(needs: AccountNeeds = {}): boolean {
  const several = Object.values(needs).filter((it) => it.several);
  if (several.length <= 1) return several.length === 1;
  throw new Error("it may need one service with several accounts only");
}

/**
 * Adds the argument by which one of a person's accounts is named: a plain
 * string without choices, because lists are printed once, for everyone.
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

/** Takes the name of an account out of parsed arguments. */
export function takeAccount(
  needs: AccountNeeds | undefined,
  input: JsonObject,
): { account?: string; own: JsonObject } {
  if (!hasSeveral(needs)) return { own: input };
  const { account, ...own } = input as JsonObject & { account?: string };
  return { account, own };
}

/** Checks a resource that needs accounts. @throws {Error} */
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

/** Adds to a result the name of the account with which the tool has acted. */
export function signed(
  result: CallToolResult,
  as: string,
  hasOutput: boolean,
): CallToolResult {
  const { content, structuredContent, _meta } = result;
  const text = `This was done with the account ${as}.`;
  return {
    ...result,
    // An output without structured content is JSON text: it stays as it is.
    ...(!hasOutput || structuredContent !== undefined) && {
      content: [...content, { type: "text", text }],
    },
    _meta: { ..._meta, [ACTED_AS]: as },
  };
}
