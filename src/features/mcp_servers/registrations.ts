/**
 * Our dynamic client registrations at other MCP servers' authorization servers:
 * made once for all processes, and stored encrypted.
 *
 * @see RFC 7591
 * @module
 */
import { LatestMap } from "../../core/cache.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import type { Expiring } from "../../core/kv/database.ts";
import { isFound } from "../../core/kv/database.ts";
import { mcpClientKey } from "../../core/kv/keys.ts";
import type { ProviderMetadata } from "../../core/provider/discovery.ts";
import { misbehaved, UpstreamError } from "../../core/provider/provider.ts";
import {
  readObject,
  type UpstreamFetch,
} from "../../core/provider/upstream_fetch.ts";
import { logRepeated } from "../../core/log/log.ts";
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

/**
 * The maximum number of earlier registrations at one authorization server.
 * Accounts that were connected with older ones have to be connected again.
 */
const MAX_EARLIER = 10;

/** The maximum number of scopes that a registration takes from an earlier one. */
const MAX_KEPT_SCOPES = 50;

/** The maximum number of registrations in one search. */
const MAX_TRIES = 3;

/** An authorization server, and our redirect URI there. */
export interface RegistrationId {
  issuer: string;
  redirectUri: string;
}

/** One of our clients at an authorization server. */
export interface ClientPlace extends RegistrationId {
  /** The fingerprint of its client ID: {@linkcode clientPrint}. */
  client: string;
}

type Place = RegistrationId & Partial<ClientPlace>;

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
  /** The fingerprints of earlier client IDs, the newest first. */
  earlier?: readonly string[];
}

/** Returns a short name of a client ID, which may be thousands of characters. */
export function clientPrint({ clientId }: { clientId: string }): string {
  return fingerprint(clientId);
}

export function registrationStore(server: OpenedServer) {
  const { database, config } = server;
  const making = new Map<string, Promise<RegisteredClient>>();
  /** The times of the first refusals of clients, by `performance.now()`. */
  const refused = new LatestMap<number>();
  /** Names the current registration, or an earlier one by its client. */
  const nameOf = ({ issuer, redirectUri, client }: Place) =>
    JSON.stringify(["mcp client", issuer, redirectUri, client]
      .filter((it) => it !== undefined));

  /** Reads a record, and decrypts its registration if that is possible. */
  async function read(place: Place) {
    const name = nameOf(place);
    const entry = await database.get<RegistrationRecord>(mcpClientKey(name));
    if (!isFound(entry)) return { entry };
    const { sealed, keyId } = entry.value;
    const { sealing } = accountsOf(server);
    const text = await sealing!.unseal({ sealed, keyId });
    // A record that was moved to another database key is ignored.
    if (!text?.startsWith(`${name}\n`)) return { entry };
    const client: RegisteredClient = JSON.parse(text.slice(name.length + 1));
    const expiresAt = expiryOf(client, database.now());
    // Accounts last as long as their registration, so that use prolongs it.
    if (expiresAt > entry.value.expiresAt + KEPT_SECONDS / 2) {
      const { key, value } = entry;
      await database.commit((transaction) =>
        transaction.check(entry).set(key, { ...value, expiresAt })
      );
    }
    return { entry, client };
  }

  async function sealFor(
    place: Place,
    { earlier, ...client }: RegisteredClient,
  ): Promise<RegistrationRecord> {
    const kept = place.client === undefined ? { ...client, earlier } : client;
    const text = `${nameOf(place)}\n${JSON.stringify(kept)}`;
    const sealed = await accountsOf(server).sealing!.seal(text);
    return { ...sealed, expiresAt: expiryOf(client, database.now()) };
  }

  /**
   * Finds the current registration. Undefined if there is none.
   *
   * With `client`, finds the registration of that client, even if another is
   * the current one by now.
   */
  async function kept(place: Place): Promise<RegisteredClient | undefined> {
    const { client, ...id } = place;
    const current = (await read(id)).client;
    if (client === undefined || current && clientPrint(current) === client) {
      return current;
    }
    return (await read(place)).client;
  }

  async function make(
    id: RegistrationId,
    { server: metadata, fetch, scopes: asked = [] }: Registry,
  ): Promise<RegisteredClient> {
    const { entry: before, client: last } = await read(id);
    const { registration_endpoint: endpoint = "" } = metadata;
    const host = `${URL.parse(endpoint)?.host}`;
    const [method = "none"] = metadata.token_endpoint_auth_methods_supported ??
      [];
    // With the scopes of the last one, processes that ask for different scopes
    // do not register in turn for ever.
    const { scopes_supported: known = [] } = metadata;
    const kept = (last?.scopes ?? [])
      .filter((it) => known.length === 0 || known.includes(it));
    const scopes = [...new Set([...asked, ...kept.slice(0, MAX_KEPT_SCOPES)])];
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
    const earlier = last ? [clientPrint(last), ...last.earlier ?? []] : [];
    const gone = earlier.splice(MAX_EARLIER);
    const application: RegisteredClient = {
      ...parse(answer, host, database.now()),
      scopes,
      ...earlier.length > 0 && { earlier },
    };
    const [record, lastRecord] = await Promise.all([
      sealFor(id, application),
      last && sealFor({ ...id, client: earlier[0] }, last),
    ]);
    const keyOf = (client?: string) => mcpClientKey(nameOf({ ...id, client }));
    const isFirst = await database.commit((transaction) => {
      transaction.check(before).set(keyOf(), record);
      if (lastRecord) transaction.set(keyOf(earlier[0]), lastRecord);
      for (const client of gone) transaction.expire(keyOf(client));
    });
    // If another process was faster, all use its registration.
    return (isFirst ? undefined : (await read(id)).client) ?? application;
  }

  return {
    kept,

    /**
     * Finds a registration for these scopes at least, or makes one. If the
     * authorization server makes none, an earlier one for less is used.
     *
     * @throws {UpstreamError}
     */
    async find(
      id: RegistrationId,
      registryOf: () => Registry,
      needed: readonly string[] = [],
    ): Promise<RegisteredClient> {
      const name = nameOf(id);
      let found = await kept(id);
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        if (found && needed.every((it) => found!.scopes?.includes(it))) break;
        let made = making.get(name);
        if (!made) {
          made = make(id, registryOf()).finally(() => making.delete(name));
          making.set(name, made);
        }
        try {
          // It may be another call's or process's, for other scopes.
          found = await made;
        } catch (error) {
          if (!found || !(error instanceof UpstreamError)) throw error;
          const words = "A registration for more scopes has failed";
          const { issuer } = id;
          logRepeated(accountsOf(server).log, words, { issuer, error });
          break;
        }
      }
      return found!;
    },

    /** Notes that the authorization server knows a client. */
    accept(place: ClientPlace): void {
      refused.delete(nameOf(place));
    },

    /**
     * Notes that the authorization server does not know a client. Deletes its
     * registration, and returns true, if it goes on so.
     */
    async refuse(place: ClientPlace): Promise<boolean> {
      const name = nameOf(place);
      const since = refused.get(name) ?? performance.now();
      refused.set(name, since);
      if (performance.now() - since < REFUSED_MILLISECONDS) return false;
      const { client: print, ...id } = place;
      for (const at of [id, place]) {
        const { entry, client } = await read(at);
        if (!client || clientPrint(client) !== print) continue;
        await database.commit((transaction) =>
          transaction.check(entry).expire(entry.key)
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
