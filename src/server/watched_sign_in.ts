/**
 * The sign-in of a server, with the providers that people sign in at.
 *
 * @module
 */
import { fetchDocument as fetchPublic } from "../auth/clients/fetch_document.ts";
import { createProvider } from "../auth/provider/create_provider.ts";
import {
  type DevProvider,
  devProvider,
} from "../auth/provider/dev/dev_provider.ts";
import type { Provider } from "../auth/provider/provider.ts";
import {
  type WatchedProvider,
  watchProvider,
} from "../auth/provider/reachability.ts";
import { callbackAt } from "../auth/provider/sign_in_providers.ts";
import { type SignIn, signIn } from "../auth/server/authorization_server.ts";
import { scopesInWords } from "../pages/scopes.tsx";
import { providerSetting } from "../settings/provider.ts";
import { type ListedProvider, renameFor } from "../settings/providers.ts";
import type { ServerParts } from "./server_parts.ts";

/** The sign-in, and what is behind it. */
interface WatchedSignIn {
  signedIn: SignIn;
  /** The development provider, if people sign in there. */
  dev?: DevProvider;
  /** Each provider, as far as it can be reached. */
  watched: readonly (ListedProvider & WatchedProvider)[];
}

/** Makes the sign-in at one public address. */
export function watchedSignIn(
  parts: Pick<ServerParts, "plan" | "given" | "database" | "engine">,
  baseUrl: string,
): WatchedSignIn {
  const { plan, given, database, engine } = parts;
  const { config, scopes, permissions, options, catalogue } = plan;
  const log = plan.log.logger("oauth");
  const dev = devProviderOf(parts, baseUrl);
  const watched: (ListedProvider & WatchedProvider)[] = [];

  function providerOf({ config, id }: ListedProvider): Provider {
    if (given.provider) return given.provider;
    if (config.provider === "dev") return dev!.provider;
    return createProvider(config, { wanted: permissions?.wantedAt(id) });
  }

  const signedIn = signIn({
    auth: config.auth,
    log,
    database,
    sessions: engine.sessions,
    ledger: engine.ledger,
    baseUrl,
    serverTitle: config.title,
    about: options,
    scopes,
    permissions,
    opensUnscoped: !catalogue.within([]).isEmpty,
    inWords: (asked) =>
      scopesInWords(asked, { uses: catalogue.scopes, words: scopes.words }),
    provider(listed) {
      const { config, key } = listed;
      const setting = providerSetting(config, renameFor(key));
      const watching = watchProvider(providerOf(listed), {
        key,
        onFault: (error) =>
          log.warning(
            key === undefined
              ? "No one can sign in: the provider does not answer well"
              : "No one can sign in at one provider: it does not answer well",
            { setting, provider: key, error },
          ),
      });
      watched.push({ ...listed, ...watching });
      return watching.provider;
    },
    fetchDocument: given.fetchDocument ?? fetchPublic,
  });
  return { signedIn, dev, watched };
}

function devProviderOf(
  { plan: { config }, database }: Pick<ServerParts, "plan" | "database">,
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
