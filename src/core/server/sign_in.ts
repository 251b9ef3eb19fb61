/**
 * The sign-in of a server at one base URL, with its providers.
 * @module
 */
import { firstOf } from "../first_of.ts";
import { createProvider } from "../provider/create_provider.ts";
import { type DevProvider, devProvider } from "../provider/dev/dev_provider.ts";
import { callbackAt } from "../settings/providers.ts";
import {
  makeSignIn,
  type SignIn,
} from "../auth/server/authorization_server.ts";
import type { PersonRecords } from "../auth/grants/end_grant.ts";
import type { MakeSignedInPages } from "../auth/server/signed_in_pages.ts";
import type { AccountNeeds, AccountService } from "../../authoring/account.ts";
import type { CommonDefinition } from "../../authoring/context.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { CompiledTool } from "../catalogue/compiled_tool.ts";
import { scopesInWords } from "../pages/scopes.ts";
import type { FetchDocument } from "../store/documents.ts";
import type { ServerCore } from "./server_core.ts";

/** Lists the items that need only the given scopes. */
function openedBy<T extends CommonDefinition>(
  items: readonly T[],
  scopes: readonly string[],
): T[] {
  return items.filter(({ scopes: needed = [] }) =>
    needed.every((scope) => scopes.includes(scope))
  );
}

/** Lists the services of the items that need only the given scopes. */
function servicesOf(
  { tools, prompts, resources, templates }: Catalogue,
  scopes: readonly string[],
): AccountService[] {
  const items: (CommonDefinition & { needs?: AccountNeeds })[] = [
    ...tools.values(),
    ...prompts.values(),
    ...resources.values(),
    ...templates.map(({ resource }) => resource),
  ];
  return [
    ...new Set(
      openedBy(items, scopes).flatMap(({ needs = {} }) => Object.values(needs)),
    ),
  ];
}

/** Returns 1 for a tool with `readOnlyHint`, else 0. */
function onlyReads({ annotations }: CompiledTool): number {
  return Number(annotations?.readOnlyHint === true);
}

/** Makes the sign-in at one base URL. */
export function signInAt(
  core: Pick<
    ServerCore,
    "plan" | "given" | "database" | "engine" | "opened" | "features"
  >,
  baseUrl: string,
  records: readonly PersonRecords[],
  pages?: MakeSignedInPages,
): SignIn {
  const { plan, given, database, engine } = core;
  const { config, scopes, permissions, options, catalogue } = plan;
  const dev = devProviderOf(core, baseUrl);
  const made = makeSignIn({
    auth: config.auth,
    pages,
    grantTypes: plan.features.flatMap(({ grantType }) => grantType ?? []),
    log: plan.log.logger("oauth"),
    database,
    sessions: engine.sessions,
    tasks: firstOf(core.features, (it) => it.tasks),
    ledger: engine.ledger,
    baseUrl,
    serverTitle: config.title,
    about: options,
    scopes,
    permissions,
    opensUnscoped: !catalogue.within([]).isEmpty,
    inWords: (asked) =>
      scopesInWords(asked, { uses: catalogue.scopes, words: scopes.words }),
    server: core.opened,
    records,
    toolsWithin: (asked) =>
      openedBy([...catalogue.tools.values()], asked)
        .sort((a, b) => onlyReads(a) - onlyReads(b))
        .map(({ name, title, scopes = [] }) => ({
          tool: name,
          toolTitle: title,
          needsScope: scopes.length > 0,
        })),
    servicesWithin: (scopes) => servicesOf(catalogue, scopes),
    needsAccount: (tool, service) =>
      Object.values(catalogue.tools.get(tool)?.needs ?? {})
        .some(({ name }) => name === service),
    titleOf: (tool) => catalogue.tools.get(tool)?.title,
    provider({ config, id }) {
      if (given.provider) return given.provider;
      if (config.provider === "dev") return dev!.provider;
      return createProvider(config, { needed: permissions?.neededAt(id) });
    },
    fetchDocument: given.fetchDocument ?? fetchPublic,
  });
  if (dev) made.app.route("/", dev.routes);
  return made;
}

/**
 * Fetches a document with Node's modules, which are loaded at the first use.
 */
const fetchPublic: FetchDocument = async (url) => {
  const { fetchDocument } = await import("../auth/clients/fetch_document.ts");
  return await fetchDocument(url);
};

function devProviderOf(
  { plan: { config }, database }: Pick<ServerCore, "plan" | "database">,
  baseUrl: string,
): DevProvider | undefined {
  const { auth, deployed, title: serverTitle } = config;
  const dev = auth.oauth?.providers.find(({ config }) =>
    config.provider === "dev"
  );
  return dev && devProvider({
    database,
    baseUrl,
    redirectUri: callbackAt(baseUrl, dev.key),
    deployed,
    serverTitle,
  });
}
