/**
 * Renders the parts of the account page, or a sign-in page. Forms and sign-ins
 * carry a return path: a part with its query parameters, or the path of a
 * question, an approval or a `/connect` page.
 *
 * @module
 */
import type { Context, Hono, MiddlewareHandler } from "@hono/hono";
import type { Child } from "@hono/hono/jsx";
import { HttpError } from "../../core/errors.ts";
import type { Outcome } from "../../core/log/log.ts";
import { personName } from "../../core/oauth/person.ts";
import {
  AccountPage,
  type PartLink,
  SignInPage,
  type SignInWords,
} from "./account_page.tsx";
import type { FormPage } from "../../core/pages/layout.tsx";
import { page } from "../../core/pages/respond.ts";
import type { AuthServices } from "../../core/auth/services.ts";
import type { AccountSessionStore } from "./account_sessions.ts";
import type { KeptData } from "./kept_data.ts";
import type { SignedIn, SignInGuard } from "./signed_in.ts";
import type { Notice } from "./notice.tsx";
import { printNotice, readNotice } from "./notices.ts";
import type { Parameters } from "../../core/oauth/parameters.ts";
import type { AppEnv } from "../../core/http/client_address.ts";
import type { OpenQuestion } from "./waiting_section.tsx";
import { now } from "../../core/clock.ts";
import { mintCsrf, redirect } from "../../core/http/browser.ts";
import { Buckets, type Rate } from "../../core/http/buckets.ts";
import { refuseIfLimited } from "../../core/http/rate_limit.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";

/**
 * The maximum length of a return path, which is sent to the provider and back.
 */
const MAX_CHARACTERS = 200;

/** The return paths outside of `/account`. The IDs in them are random. */
const PAGE =
  /^((wait|approve)\/[\w-]{43}|connect\/[\w-]{1,40}(\?w=[\w-]{43})?)$/;

export type ReturnPaths = ReturnType<typeof returnPathsOf>;

/**
 * Makes the functions that write and read return paths. An unknown path leads
 * to the first part.
 */
export function returnPathsOf(
  baseUrl: string,
  parts: readonly Pick<AccountPagePart, "name" | "query">[],
) {
  const known = new Map(parts.map((part) => [part.name, part.query ?? []]));

  function asked(part: string, query: URLSearchParams): URLSearchParams {
    const kept = (known.get(part) ?? []).map((key) => [key, query.get(key)]);
    return new URLSearchParams(
      kept.filter((pair): pair is [string, string] => Boolean(pair[1])),
    );
  }

  return {
    /** Formats a return path for a form: `people?person=jo`. */
    print(part: string, query: Record<string, string>): string {
      const params = asked(part, new URLSearchParams(query));
      const returnPath = params.size > 0 ? `${part}?${params}` : part;
      return returnPath.length <= MAX_CHARACTERS ? returnPath : part;
    },

    /** Returns a form's return path; the first part if it is too long. */
    truncate(returnPath = ""): string {
      return returnPath.length <= MAX_CHARACTERS ? returnPath : "";
    },

    /**
     * Returns the URL of a return path from a form or a provider, with
     * `message` in its query. An unknown path gives the URL of the first part.
     */
    addressOf(returnPath = "", message: Record<string, string> = {}): string {
      if (PAGE.test(returnPath)) return `${baseUrl}/${returnPath}`;
      const [named, query = ""] = returnPath.split("?", 2);
      const part = known.has(named) ? named : "";
      const params = asked(part, new URLSearchParams(query));
      for (const [key, value] of Object.entries(message)) {
        params.set(key, value);
      }
      return `${baseUrl}/account${part && `/${part}`}` +
        (params.size > 0 ? `?${params}` : "");
    },
  };
}

/** A signed-in person who opens a part. */
export interface AccountPageVisit extends SignedIn {
  isOperator: boolean;
  /** The provider's name in `OAUTH_PROVIDER`, if that lists several. */
  providerKey?: string;
  /** The provider's name on pages. */
  providerName: string;
  query: Readonly<Record<string, string>>;
  /** The base URL, CSRF token and return path for the part's forms. */
  form: Required<FormPage>;
  /** Epoch seconds. */
  now: number;
}

export interface AccountPagePart extends PartLink {
  title: string;
  /** The query parameters that the part's return paths keep. */
  query?: readonly string[];
  /** True if a form of the part may redirect to the provider. */
  leadsAway?: true;
  script?: string;
  /** Reads the part's data and renders it. */
  show(visit: AccountPageVisit): Promise<Child>;
}

/** The server's parts that the account page uses. */
export type AccountPageServices = AuthServices & {
  accountSessions: AccountSessionStore;
  signedIn: SignInGuard;
  additions: readonly AccountPageAddition[];
};

/** A search in the latest calls. */
export interface CallFilter {
  /** A search for people: prefixes of words in their names. */
  person?: string;
  /** Part of a client's name. */
  client?: string;
  outcome?: Outcome;
  /** The ID of a receipt; only older ones are listed. */
  before?: string;
}

/** The additions of another feature to the account page. */
export interface AccountPageAddition {
  /** Makes the feature's parts, in the order of the navigation. */
  parts?(services: AccountPageServices): readonly AccountPagePart[];
  /** Adds more routes for the pages of the feature's parts. */
  routes?(
    app: Hono<AppEnv>,
    services: FormServices,
    rated: MiddlewareHandler,
  ): void;
  waiting?(
    session: AccountPageVisit["session"],
    services: AccountPageServices,
  ): Promise<OpenQuestion[]>;
  /** Lets a person's work go on after this time if its connection is resumed. */
  resumed?(
    session: AccountPageVisit["session"],
    services: AccountPageServices,
    afterSeconds: number,
  ): Promise<void>;
  /** True if tools use accounts of people at other services. */
  hasAccounts?(services: AuthServices): boolean;
  /** Lists a person's accounts at other services. */
  accountsOf?(
    subject: string,
    services: AuthServices,
  ): Promise<readonly { service: string; createdAt: number }[]>;
  /**
   * Lists the services at which a person's keys and tokens remain valid after
   * they are deleted here.
   */
  unrevokedOf?(subject: string, services: AuthServices): Promise<string[]>;
  /** Makes a section of the first part, below the open questions. */
  section?(
    visit: AccountPageVisit,
    services: AccountPageServices,
  ): Promise<Child>;
  /** Makes a section below the latest calls. */
  amongCalls?(
    visit: AccountPageVisit,
    filter: CallFilter,
    services: AccountPageServices,
  ): Promise<Child>;
  /**
   * Makes the URL of a person's calls through a client; undefined if no calls
   * are stored.
   */
  callsHref?(
    visit: AccountPageVisit,
    client: string,
    services: AuthServices,
  ): string | undefined;
  /** The data that the feature stores about people. */
  kept?: readonly KeptData[];
}

export type FormServices = AccountPageServices & { returnPaths: ReturnPaths };

/** Redirects to a form's return path, with a notice of the change. */
export async function redirectBack(
  c: Context,
  returnPaths: ReturnPaths,
  { id, form }: { id: string; form: Parameters },
  notice: Notice,
): Promise<Response> {
  const message = await printNotice(id, notice);
  return redirect(c, returnPaths.addressOf(form.get("back"), message));
}

/** Responds with a sign-in page. */
export function signInFirst(
  c: Context,
  { choice, frame }: AuthServices,
  words: SignInWords,
): Response {
  const options = choice.options(c);
  return page(c, SignInPage({ ...frame, ...words, options }), { forms: "any" });
}

/** The rate limit of one person's pages, some of which read all their data. */
const PAGES: Rate = { burst: 60, perSecond: 1 };

export function accountPages(
  services: FormServices,
  parts: readonly AccountPagePart[],
): (part: AccountPagePart) => (c: Context) => Promise<Response> {
  const { frame, providers, signedIn, returnPaths, clock } = services;
  const pages = new Buckets(PAGES);

  async function show(
    c: Context,
    part: AccountPagePart,
    { id, session }: SignedIn,
  ): Promise<Response> {
    refuseIfLimited(pages.take(fingerprint(session.subject)));
    const isOperator = signedIn.isOperator(session);
    if (part.isForOperators && !isOperator) {
      throw new HttpError(404, "There is nothing at this address");
    }
    const query = c.req.query();
    const csrf = mintCsrf(id);
    const signedInAt = providers.of(session);
    const { name: providerName } = signedInAt?.provider ?? providers;
    const children = await part.show({
      id,
      session,
      isOperator,
      providerKey: signedInAt?.key,
      providerName,
      query,
      form: {
        base: frame.base,
        csrf,
        back: returnPaths.print(part.name, query),
      },
      now: now(clock),
    });
    return page(
      c,
      AccountPage({
        ...frame,
        title: part.title,
        part: part.name,
        parts: parts.filter((it) => isOperator || !it.isForOperators),
        person: personName(session),
        providerName,
        csrf,
        notice: await readNotice(id, query),
        children,
        scripts: part.script ? [part.script] : [],
      }),
      { forms: part.leadsAway ? "any" : "self", script: part.script },
    );
  }

  return (part) => async (c) => {
    const query = c.req.query();
    const returnPath = returnPaths.print(part.name, query);
    const found = await signedIn.find(c);
    if (found) return await show(c, part, found);
    return signInFirst(c, services, {
      title: "Your account",
      lead:
        "Sign in to see which apps are connected in your name, and to end " +
        "any of them.",
      notice: query.erased === undefined
        ? undefined
        : "Erased. You are signed out, and every app has to ask again.",
      back: returnPath,
    });
  };
}
