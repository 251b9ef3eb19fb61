/**
 * The security schemes of a document, and which of them a service uses.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { isAddress } from "../../src/authoring/personal_key.ts";
import { SCOPE_TOKEN } from "../../src/authoring/scope.ts";
import {
  type ApiDocument,
  countParts,
  resolveReference,
  shortLine,
} from "./document.ts";
import type { Operation } from "./operations.ts";
import { shortText } from "./schema.ts";

/** One way in which a request authenticates. */
export type Scheme =
  | { kind: "code"; name: string; options: JsonObject }
  | { kind: "key"; name: string; options: JsonObject; header?: string }
  | { kind: "query" | "cookie"; name: string; parameter: string }
  | { kind: "client"; name: string; token: string };

/** The schemes that requests of a service use, and the scopes of its tools. */
export interface Security {
  /** Empty if the API needs no authentication. */
  schemes: readonly Scheme[];
  scopes: readonly string[];
  /** The operations that anyone may call, without any of these schemes. */
  open: ReadonlySet<Operation>;
  /**
   * The operations that need other schemes, each with advice for the author.
   */
  others: ReadonlyMap<Operation, string>;
  /** Notes for the author. */
  notes: readonly string[];
}

const OTHER_SERVICE =
  "It wants another way to sign in than the rest: --pick only what signs in like it, --as another service.";

/** The kinds of schemes, the best for people first. */
const PREFERRED = ["code", "key", "client", "query", "cookie"];

/**
 * Ranks a scheme. Of one kind, schemes that need the `Authorization` header
 * come first.
 */
const rankOf = (scheme: Scheme) =>
  2 * PREFERRED.indexOf(scheme.kind) + Number("header" in scheme);

/** Chooses the schemes that serve most of the selected operations. */
export function securityOf(
  document: ApiDocument,
  operations: readonly Operation[],
): Security {
  const known = schemesOf(document);
  const sets = new Map<string, { schemes: Scheme[]; serves: number }>();
  const given = operations.map(({ raw }) => {
    const alternatives = raw.security ?? document.root.security;
    const sets = Array.isArray(alternatives) ? alternatives : [];
    for (const it of sets) {
      countParts(document, 1 + Object.keys(Object(it)).length);
    }
    return sets.length > 0 ? sets.filter(isObject) : [{}];
  });
  const wants = given.map((alternatives) =>
    alternatives.map((it) => Object.keys(it).sort())
  );
  for (const alternatives of wants) {
    const weight = Number(alternatives.every((names) => names.length > 0));
    for (const names of alternatives) {
      const schemes = names.flatMap((name) => known.get(name) ?? [])
        .sort((a, b) => rankOf(a) - rankOf(b));
      if (names.length === 0 || schemes.length < names.length) continue;
      // A request can have one `Authorization` header, and tokens from one
      // source.
      const rest = schemes.slice(1);
      if (!rest.every((it) => "parameter" in it || "header" in it)) continue;
      const key = JSON.stringify(names);
      const set = sets.get(key) ?? { schemes, serves: 0 };
      set.serves += weight;
      sets.set(key, set);
    }
  }
  const rank = (schemes: readonly Scheme[]) =>
    10 * schemes.length + rankOf(schemes[0]);
  const [best] = [...sets.values()].sort((a, b) =>
    b.serves - a.serves || rank(a.schemes) - rank(b.schemes)
  );
  const schemes = best?.schemes ?? [];
  const used = new Set(schemes.map(({ name }) => name));
  const scopes = given.flat().flatMap((it) => Object.entries(it))
    .flatMap(([name, scopes]) => used.has(name) ? scopes : [])
    .filter((it): it is string =>
      typeof it === "string" && SCOPE_TOKEN.test(it)
    );
  const personal = schemes.slice(0, 1)
    .filter(({ kind }) => kind === "code" || kind === "key");
  const isEnough = (names: string[]) =>
    personal.every(({ name }) => names.includes(name));
  const kinds = Map.groupBy(operations, (_, index) => {
    const sets = wants[index].filter((it) =>
      it.every((name) => used.has(name))
    );
    // An optional sign-in is used: the person signs in. The person's key goes
    // to no operation that wants only the server's.
    if (sets.some((names) => names.length > 0 && isEnough(names))) return "own";
    return sets.some((names) => names.length === 0) ? "open" : "others";
  });
  const isUnsaid = operations.every(({ raw }) =>
    (raw.security ?? document.root.security) === undefined
  );
  return {
    schemes,
    notes: isUnsaid ? [noSecurity(known)] : [],
    scopes: [...new Set(scopes)].sort(),
    open: new Set(kinds.get("open")),
    others: new Map(
      kinds.get("others")?.map((operation) => {
        const own = wants[operations.indexOf(operation)];
        if (own.some((names) => sets.has(JSON.stringify(names)))) {
          return [operation, OTHER_SERVICE];
        }
        const lost = own.flat().find((name) => !known.has(name));
        return [
          operation,
          lost === undefined
            ? "It wants two ways to sign in at once."
            : `It wants to sign in by ${shortLine(lost)}, which ` +
              (Object.hasOwn(securitySchemesOf(document), lost)
                ? "tools cannot."
                : "the document does not define."),
        ];
      }),
    ),
  };
}

/** Says that a document may have forgotten to say how to sign in. */
function noSecurity(known: ReadonlyMap<string, Scheme>): string {
  const names = [...known.keys()].slice(0, 3).map((it) => shortLine(it, 40));
  const what = names.length > 0
    ? `defines ${names.join(", ")}, but no operation asks for it`
    : "does not say how to sign in";
  return `The document ${what}: calls go without a key. If the API wants one, ` +
    "add security to the document, and import it again.";
}

const securitySchemesOf = ({ root }: ApiDocument) =>
  Object(Object(root.components).securitySchemes);

function schemesOf(document: ApiDocument): Map<string, Scheme> {
  const known = new Map<string, Scheme>();
  for (const [name, entry] of Object.entries(securitySchemesOf(document))) {
    const given = resolveReference(document, entry);
    const scheme = isObject(given) && schemeOf(document, name, given);
    if (scheme) known.set(name, scheme);
  }
  return known;
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/** Matches a word other than Bearer that a description puts before the key. */
const WORD = /(?<=["'`]|\bas |: )(?:Token|Api-?Key)(?=["'`]| [\w<{[])/i;

function schemeOf(
  document: ApiDocument,
  name: string,
  given: JsonObject,
): Scheme | undefined {
  const words = shortText(given.description, 160);
  const help = words ? { help: words } : {};
  switch (given.type) {
    case "http": {
      const scheme = `${given.scheme}`.toLowerCase();
      if (scheme === "bearer") return { kind: "key", name, options: help };
      const options = { help: "name:password", scheme: "Basic" };
      return scheme === "basic" ? { kind: "key", name, options } : undefined;
    }
    case "apiKey": {
      const parameter = `${given.name}`;
      if (given.in === "query" || given.in === "cookie") {
        return { kind: given.in, name, parameter };
      }
      if (given.in !== "header" || !TOKEN.test(parameter)) return undefined;
      if (parameter.toLowerCase() === "authorization") {
        const [scheme] = WORD.exec(words) ??
          (/bearer/i.test(`${name} ${words}`) ? [] : [""]);
        const options = { ...help, ...scheme !== undefined && { scheme } };
        return { kind: "key", name, options };
      }
      const options = { ...help, header: parameter };
      return { kind: "key", name, options, header: parameter };
    }
    case "oauth2":
      return flowOf(document, name, Object(given.flows));
    case "openIdConnect": {
      const issuer = addressOf(document, given.openIdConnectUrl)
        ?.replace(/\/\.well-known\/openid-configuration$/, "");
      return issuer === undefined
        ? undefined
        : { kind: "code", name, options: { issuer } };
    }
    default:
      return undefined;
  }
}

function flowOf(
  document: ApiDocument,
  name: string,
  flows: JsonObject,
): Scheme | undefined {
  const { authorizationCode, clientCredentials, implicit, password } = flows;
  if (isObject(authorizationCode)) {
    const { authorizationUrl, tokenUrl } = authorizationCode;
    const page = URL.parse(`${authorizationUrl}`, document.address);
    const params = Object.fromEntries(page?.searchParams ?? []);
    if (page) page.search = "";
    const authorize = addressOf(document, page?.href);
    const token = addressOf(document, tokenUrl);
    if (authorize !== undefined && token !== undefined) {
      const hasParams = Object.keys(params).length > 0;
      const options = { authorize, token, ...hasParams && { params } };
      return { kind: "code", name, options };
    }
  }
  if (isObject(clientCredentials)) {
    const token = addressOf(document, clientCredentials.tokenUrl);
    if (token !== undefined) return { kind: "client", name, token };
  }
  const isPasted = [implicit, password, authorizationCode].some(isObject);
  if (!isPasted) return undefined;
  return { kind: "key", name, options: { help: "an access token" } };
}

/** Parses a URL to which keys may be sent. Undefined for any other. */
function addressOf(document: ApiDocument, given: unknown): string | undefined {
  if (typeof given !== "string") return undefined;
  const url = URL.parse(given, document.address);
  if (url?.protocol === "http:" && !isAddress(url.href)) {
    url.protocol = "https:";
  }
  return url !== null && isAddress(url.href) ? url.href : undefined;
}
