/**
 * The development provider: a sign-in page of this server that accepts any
 * name, so that the whole sign-in runs on one machine. Browsers reach it, but
 * the server sends it no requests. Codes and tokens are encrypted and not
 * stored, so any process can check them.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { basePathOf, isLoopback } from "../../net/url.ts";
import { now } from "../../clock.ts";
import { fingerprint, randomId, seal, unseal } from "../../crypto/crypto.ts";
import {
  DevSignInPage,
  identityOf,
  makePersonClaims,
} from "./dev_sign_in_page.tsx";
import { readParameters } from "../../http/body.ts";
import type { AppEnv } from "../../http/client_address.ts";
import { checkSameSite } from "../../http/browser.ts";
import { page } from "../../pages/respond.ts";
import type { Database } from "../../kv/database.ts";
import { type SecretStore, secretStore } from "../../store/secrets.ts";
import { stateStore } from "../../store/once.ts";
import { buildAuthorizationUrl } from "../authorization_url.ts";
import {
  type Provider,
  UpstreamError,
  type UpstreamTokens,
} from "../provider.ts";

/** The path of the provider, below this server's origin. */
const DEV_PATH = "/dev-provider";

const DEV_CLIENT_ID = "tool-server";

const CODE_TTL_SECONDS = 60;
/** Short, so that a developer sees a token refresh on the same day. */
const ACCESS_TTL_SECONDS = 300;
const REFRESH_TTL_SECONDS = 30 * 86_400;

export type DevProvider = ReturnType<typeof devProvider>;

export function devProvider(
  { database, baseUrl, redirectUri, deployed, serverTitle }: {
    database: Database;
    baseUrl: string;
    /** This server's redirect URI at the provider. */
    redirectUri: string;
    deployed: boolean;
    /** `MCP_TITLE`. */
    serverTitle: string;
  },
) {
  checkDevProvider({ baseUrl, deployed });
  const issuer = `${baseUrl}${DEV_PATH}`;
  const { issue, open } = sealing(secretStore(database));
  const codes = stateStore(database);
  const app = new Hono<AppEnv>().basePath(DEV_PATH);

  app.get("/authorize", (c) => {
    const request = c.req.query();
    if (!isOurs((name) => request[name], redirectUri)) return refuse(c);
    const action = `${basePathOf(baseUrl)}${DEV_PATH}/authorize`;
    const shown = DevSignInPage({ serverTitle, action, fields: request });
    // `forms: "any"`: the redirects after the form may end at any redirect
    // URI.
    return page(c, shown, { forms: "any" });
  });

  app.post("/authorize", async (c) => {
    checkSameSite(c.req.raw, baseUrl);
    const form = await readParameters(c);
    if (!isOurs((name) => form.get(name), redirectUri)) return refuse(c);
    const answer = new URL(redirectUri);
    answer.searchParams.set("state", form.require("state"));
    answer.searchParams.set("iss", issuer);
    const name = form.get("name") ?? "";
    if (form.get("cancel") !== undefined || name.trim() === "") {
      answer.searchParams.set("error", "access_denied");
    } else {
      const claims = {
        nonce: form.get("nonce"),
        code_challenge: form.get("code_challenge"),
        person: makePersonClaims(name, form.get("groups")),
      };
      const code = await issue("code", claims, CODE_TTL_SECONDS);
      answer.searchParams.set("code", code);
    }
    c.header("Cache-Control", "no-store");
    return c.redirect(answer.href, 303);
  });

  app.get("/userinfo", async (c) => {
    const [, token = ""] = (c.req.header("authorization") ?? "").split(" ");
    const granted = await open("access", token);
    if (granted !== undefined) return c.json(granted.person as object);
    c.header("WWW-Authenticate", 'Bearer error="invalid_token"');
    return c.json({ error: "invalid_token" }, 401);
  });

  // The server that mounts these routes handles errors.
  app.onError((error) => {
    throw error;
  });

  async function grant(
    person: unknown,
    refreshToken?: string,
  ): Promise<UpstreamTokens> {
    return {
      accessToken: await issue("access", { person }, ACCESS_TTL_SECONDS),
      tokenType: "Bearer",
      refreshToken: refreshToken ??
        await issue("refresh", { person }, REFRESH_TTL_SECONDS),
      expiresAt: now() + ACCESS_TTL_SECONDS,
    };
  }

  const provider: Provider = {
    name: "Dev Provider",
    apiUrl: issuer,
    authorizationUrl: (request) =>
      Promise.resolve(buildAuthorizationUrl({
        endpoint: `${issuer}/authorize`,
        clientId: DEV_CLIENT_ID,
        scopes: ["openid"],
        extra: {},
      }, request)),
    redeem: (response) =>
      answered(async () => {
        if (response.issuer !== issuer) throw refusal("misbehaved", "iss");
        const code = await open("code", response.code);
        const isOurs = code !== undefined &&
          response.redirectUri === redirectUri &&
          fingerprint(response.codeVerifier) === code.code_challenge;
        // A code is redeemed once, even if several requests try at the same
        // time.
        if (!isOurs || !await codes.spend(code.jti, { expiresAt: code.exp })) {
          throw refusal("dead", "invalid_grant");
        }
        if (code.nonce !== response.nonce) throw refusal("misbehaved", "nonce");
        return {
          tokens: await grant(code.person),
          identity: identityOf(code.person),
        };
      }),
    refresh: (refreshToken) =>
      answered(async () => {
        const granted = await open("refresh", refreshToken);
        if (granted === undefined) throw refusal("dead", "invalid_grant");
        return await grant(granted.person, refreshToken);
      }),
    identify: ({ accessToken }) =>
      answered(async () => {
        const granted = await open("access", accessToken);
        if (granted === undefined) throw refusal("dead", "invalid_token");
        return identityOf(granted.person);
      }),
    isAlive: (accessToken) =>
      answered(async () => await open("access", accessToken) !== undefined),
    checkAnswers: () => Promise.resolve(),
  };
  /** `routes` belong at the root of the server. */
  return { routes: app, provider };
}

function refusal(kind: UpstreamError["kind"], what: string): UpstreamError {
  return new UpstreamError(kind, `The Dev Provider refused with ${what}`);
}

/**
 * Calls `answer`. An error other than an `UpstreamError`, such as the
 * database's, becomes `unavailable`.
 */
async function answered<T>(answer: () => Promise<T>): Promise<T> {
  try {
    return await answer();
  } catch (cause) {
    if (cause instanceof UpstreamError) throw cause;
    const message = "The Dev Provider did not answer";
    throw new UpstreamError("unavailable", message, { cause });
  }
}

/** True if an authorization request comes from this server. */
function isOurs(
  get: (name: string) => string | undefined,
  redirectUri: string,
): boolean {
  return get("client_id") === DEV_CLIENT_ID &&
    get("redirect_uri") === redirectUri &&
    get("response_type") === "code" && Boolean(get("state")) &&
    Boolean(get("code_challenge")) && get("code_challenge_method") === "S256";
}

function refuse(c: Context): Response {
  return c.json({ error: "invalid_request" }, 400);
}

/**
 * Checks that only this machine can reach the `dev` provider, which signs in
 * anyone under any name.
 *
 * @throws {Error} if others could reach it
 */
export function checkDevProvider(
  { baseUrl, deployed }: { baseUrl: string; deployed: boolean },
): void {
  if (!deployed && isLoopback(new URL(baseUrl))) return;
  throw new Error(
    "OAUTH_PROVIDER=dev lets anyone in under any name: " +
      "it works on a loopback address only, and never when deployed",
  );
}

/** The kinds of encrypted values. One kind is never accepted as another. */
type Sealed = "code" | "access" | "refresh";

/** Claims to encrypt, with their expiry and an id. */
type Claims = Record<string, unknown> & { exp: number; jti: string };

/**
 * Makes the functions that encrypt and decrypt codes and tokens. All processes
 * share the key.
 */
function sealing(secrets: SecretStore) {
  const findKey = () => secrets.find("dev-provider-seal");
  return {
    async issue(
      kind: Sealed,
      claims: Readonly<Record<string, unknown>>,
      ttlSeconds: number,
    ): Promise<string> {
      const all = { ...claims, jti: randomId(16), exp: now() + ttlSeconds };
      return await seal(await findKey(), JSON.stringify(all), kind);
    },

    /**
     * Decrypts claims that were encrypted as `kind`; undefined for any other
     * text.
     */
    async open(kind: Sealed, sealed: string): Promise<Claims | undefined> {
      const key = await findKey();
      const claims: Claims | undefined = await unseal(key, sealed, kind)
        .then(JSON.parse, () => undefined);
      return claims && claims.exp > now() ? claims : undefined;
    },
  };
}
