/**
 * Our dynamic client registrations at other MCP servers' authorization servers:
 * made once for all processes, and stored encrypted.
 *
 * @see RFC 7591
 * @module
 */
import { LatestMap } from "../../core/cache.ts";
import type { Expiring } from "../../core/kv/database.ts";
import { isFound } from "../../core/kv/database.ts";
import { mcpClientKey } from "../../core/kv/keys.ts";
import type { ProviderMetadata } from "../../core/provider/discovery.ts";
import { misbehaved } from "../../core/provider/provider.ts";
import {
  readObject,
  type UpstreamFetch,
} from "../../core/provider/upstream_fetch.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";
import type { Sealed } from "../../core/crypto/sealing.ts";
import type { AccountApplication } from "../accounts/account_quirks.ts";
import { accountsOf } from "../accounts/server_accounts.ts";

/** The seconds after its last use for which a registration is stored. */
const KEPT_SECONDS = 365 * 86_400;

/**
 * The seconds before its expiry from which a client secret counts as expired.
 */
const MARGIN_SECONDS = 86_400;

/**
 * The time between two refusals of a client, with no success between, after
 * which its registration counts as deleted there: one may be a moment's fault.
 */
const REFUSED_MILLISECONDS = 60_000;

const MAX_CHARACTERS = 4000;

/** An authorization server, and our redirect URI there. */
export interface RegistrationId {
  issuer: string;
  redirectUri: string;
}

interface ClientPlace extends RegistrationId {
  clientId: string;
}

interface RegistrationRecord extends Expiring, Sealed {}

/** The metadata of the server at which to register, and the `fetch` for it. */
interface Registry {
  server: ProviderMetadata;
  fetch: UpstreamFetch;
  /** The scopes to register for: some servers give a client no others. */
  scopes?: readonly string[];
}

/** A client, with the scopes for which it was registered. */
export interface RegisteredClient extends AccountApplication {
  scopes?: readonly string[];
  /** The time at which its secret counts as expired, if it expires. */
  endsAt?: number;
}

export function registrationStore(server: OpenedServer) {
  const { database, config } = server;
  const making = new Map<string, Promise<RegisteredClient>>();
  /** The times of the first refusals of clients, by `performance.now()`. */
  const refused = new LatestMap<number>();
  const nameOf = ({ issuer, redirectUri }: RegistrationId) =>
    JSON.stringify(["mcp client", issuer, redirectUri]);

  async function kept(
    id: RegistrationId,
  ): Promise<RegisteredClient | undefined> {
    const { sealing } = accountsOf(server);
    const name = nameOf(id);
    const key = mcpClientKey(name);
    const entry = await database.get<RegistrationRecord>(key);
    if (!isFound(entry)) return undefined;
    const { sealed, keyId } = entry.value;
    const text = await sealing!.unseal({ sealed, keyId });
    // A record that was moved to another database key is ignored.
    if (!text?.startsWith(`${name}\n`)) return undefined;
    const client: RegisteredClient = JSON.parse(text.slice(name.length + 1));
    const expiresAt = expiryOf(client, database.now());
    // Accounts last as long as their registration, so that use prolongs it.
    if (expiresAt > entry.value.expiresAt + KEPT_SECONDS / 2) {
      await database.commit((transaction) =>
        transaction.check(entry).set(key, { ...entry.value, expiresAt })
      );
    }
    return client;
  }

  async function make(
    id: RegistrationId,
    { server: metadata, fetch, scopes = [] }: Registry,
  ): Promise<RegisteredClient> {
    const name = nameOf(id);
    const key = mcpClientKey(name);
    const before = await database.get<RegistrationRecord>(key);
    const { registration_endpoint: endpoint = "" } = metadata;
    const host = `${URL.parse(endpoint)?.host}`;
    const [method = "none"] = metadata.token_endpoint_auth_methods_supported ??
      [];
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...clientMetadata(id.redirectUri, config.title, method),
        ...scopes.length > 0 && { scope: scopes.join(" ") },
      }),
    });
    if (!response.ok) {
      throw misbehaved(`${host} answered ${response.status} to a registration`);
    }
    const answer = await readObject(response, host);
    const now = database.now();
    const application = { ...parse(answer, host, now), scopes };
    const expiresAt = expiryOf(application, now);
    const text = `${name}\n${JSON.stringify(application)}`;
    const sealed = await accountsOf(server).sealing!.seal(text);
    const isFirst = await database.commit((transaction) =>
      transaction.check(before).set(key, { ...sealed, expiresAt })
    );
    // If another process was faster, all use its registration.
    return (isFirst ? undefined : await kept(id)) ?? application;
  }

  return {
    /** Finds a registration. Undefined if there is none. */
    kept,

    /**
     * Finds a registration for these scopes at least, or makes one.
     *
     * @throws {UpstreamError}
     */
    async find(
      id: RegistrationId,
      registryOf: () => Registry,
      needed: readonly string[] = [],
    ): Promise<RegisteredClient> {
      const found = await kept(id);
      if (found && needed.every((it) => found.scopes?.includes(it))) {
        return found;
      }
      const name = nameOf(id);
      let made = making.get(name);
      if (!made) {
        made = make(id, registryOf()).finally(() => making.delete(name));
        making.set(name, made);
      }
      return await made;
    },

    /** Notes that the authorization server knows a client. */
    accept({ clientId, ...id }: ClientPlace): void {
      refused.delete(`${nameOf(id)}\n${clientId}`);
    },

    /**
     * Notes that the authorization server does not know a client. Deletes its
     * registration, and returns true, if it goes on so.
     */
    async refuse({ clientId, ...id }: ClientPlace): Promise<boolean> {
      const name = `${nameOf(id)}\n${clientId}`;
      const since = refused.get(name) ?? performance.now();
      refused.set(name, since);
      if (performance.now() - since < REFUSED_MILLISECONDS) return false;
      const key = mcpClientKey(nameOf(id));
      const entry = await database.get<RegistrationRecord>(key);
      const found = await kept(id);
      if (found?.clientId === clientId) {
        await database.commit((transaction) =>
          transaction.check(entry).expire(key)
        );
      }
      return true;
    },
  };
}

export function clientMetadata(
  redirectUri: string,
  title: string,
  method = "none",
) {
  return {
    client_name: title,
    client_uri: new URL("/", redirectUri).href,
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: method,
  };
}

/** Returns the time at which a registration expires that is used now. */
function expiryOf({ endsAt = Infinity }: RegisteredClient, now: number) {
  return Math.min(now + KEPT_SECONDS, endsAt);
}

/** Parses the response to a registration (RFC 7591 §3.2.1). */
function parse(
  answer: Readonly<Record<string, unknown>>,
  host: string,
  now: number,
): RegisteredClient {
  const {
    client_id: clientId,
    client_secret: clientSecret,
    client_secret_expires_at: end,
  } = answer;
  const isText = (it: unknown) =>
    typeof it === "string" && it !== "" && it.length <= MAX_CHARACTERS;
  const isRight = isText(clientId) &&
    (clientSecret === undefined || isText(clientSecret));
  if (!isRight) {
    throw misbehaved(`${host} registered this server under no name`);
  }
  const isEnding = typeof end === "number" && end > 0 &&
    clientSecret !== undefined;
  return {
    clientId: clientId as string,
    ...clientSecret !== undefined && { clientSecret: clientSecret as string },
    ...isEnding && { endsAt: Math.max(now + 3600, end - MARGIN_SECONDS) },
  };
}
