/**
 * The code of a document's service: an account of each person, a key of each
 * person, or a key of the server.
 *
 * @module
 */
import { PACKAGE } from "../create/source.ts";
import { isAddress } from "../../src/authoring/personal_key.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { isSameSite } from "../../src/core/net/site.ts";
import { shortLine } from "./document.ts";
import {
  literal,
  memberCode,
  objectCode,
  snakeCase,
  uniqueName,
} from "./names.ts";
import type { Scheme, Security } from "./security.ts";
import {
  notAnApiAddress,
  type ServerAddress,
  SETTING_SUFFIXES,
} from "./servers.ts";
import type { ServiceNames } from "./source.ts";

/** A further key, which the server sends with the person's key. */
interface SentAlong {
  place: "headers" | "query" | "cookies";
  name: string;
  setting: string;
}

/** A key of the server in a test. */
export const TEST_KEY = "a-key";

/** The facts about a service that its tools need. */
export interface UsedService {
  /** The constant of the service. */
  variable: string;
  /**
   * True if people connect their own accounts; false if the server has one key,
   * or none.
   */
  isPersonal: boolean;
  /** The constant for the settings of further keys that tools send. */
  keys?: string;
  along: readonly SentAlong[];
  /** The keys of the server that go with each request: `along`, or its own. */
  sent: readonly Omit<SentAlong, "setting">[];
  /** The settings of a test by name, each with its code, such as `api.url`. */
  env: readonly [string, string][];
}

export interface ServiceCode extends UsedService {
  text: string;
  notes: readonly string[];
  /** The same API without authentication, if there are tools for it. */
  open?: UsedService;
}

const NO_OTHER = "the document has no other place.";

/** The notes about keys that others may see. */
const NOTES = new Map<string, string>([
  ["query", `Its key goes into addresses, which proxies may log: ${NO_OTHER}`],
  ["cookie", `Its key goes into a cookie: ${NO_OTHER}`],
]);

export function serviceCode(
  names: ServiceNames,
  title: string,
  { schemes, scopes, open, notes }: Security,
  address: ServerAddress,
): ServiceCode {
  const { variable } = names;
  const [first, ...rest] = schemes;
  const isPersonal = first?.kind === "code" || first?.kind === "key";
  const taken = new Set(SETTING_SUFFIXES)
    .union(new Set(address.variables.map(({ code }) => code)));
  const sent = (isPersonal ? rest : schemes)
    .flatMap((it) => sentAlong(it, names, taken, schemes.length === 1));
  const along = isPersonal ? sent : [];
  const keys = along.length > 0 ? `${variable}Keys` : undefined;
  const own = [
    isPersonal
      ? personalCode(names, title, first, scopes, address)
      : startedCode(names, title, schemes, scopes, address, sent),
    ...keys ? [keysCode(keys, title, along)] : [],
  ];
  const other = isPersonal && open.size > 0
    ? openCode(names, title, address)
    : undefined;
  const made = [...own, ...other ? [other] : []];
  const imports = new Set(made.flatMap(({ imports }) => imports));
  const more = imports.has("service")
    ? `import { httpApi } from "${PACKAGE}/api";\n`
    : "";
  return {
    text: `import { ${[...imports].sort().join(", ")} } from "${PACKAGE}";\n` +
      more + made.map(({ text }) => `\n${text}`).join(""),
    variable,
    isPersonal,
    ...keys && { keys },
    along,
    sent,
    env: own.flatMap(({ env }) => env),
    ...other && { open: other },
    notes: [
      ...address.notes,
      ...notes,
      ...schemes.flatMap((it) => tokenNote(it, address.api)),
      ...schemes.flatMap(({ kind }) => NOTES.get(kind) ?? []),
      ...keys
        ? [
          `It wants several keys: the ${
            shortLine(first.name)
          } is each person's.`,
        ]
        : [],
    ],
  };
}

/** Notes that the server's secret goes to another site than is expected. */
function tokenNote(scheme: Scheme, api: string): string[] {
  const all: JsonObject = { ...scheme, ...Object(scheme).options };
  const { token, authorize = api } = all;
  if (token === undefined) return [];
  const [to, ...from] = [token, authorize, api].map((it) => new URL(`${it}`));
  const other = from.find((it) => !isSameSite(it, to));
  const words = `This server's secret goes to ${to.host}, another site than `;
  return other ? [`${words}${other.host}.`] : [];
}

/**
 * @param taken the suffixes of the names of settings so far
 * @param isOnly true if this is the service's only key
 */
function sentAlong(
  scheme: Scheme,
  { name }: ServiceNames,
  taken: Set<string>,
  isOnly: boolean,
): SentAlong[] {
  const own = isOnly ? "" : snakeCase(scheme.name, 40).toUpperCase();
  const end = uniqueName(own || "KEY", taken, "_");
  const setting = `${name.toUpperCase()}_${end}`;
  if ("parameter" in scheme) {
    const place = scheme.kind === "query" ? "query" : "cookies";
    return [{ place, name: scheme.parameter, setting }];
  }
  // A request cannot have a second `Authorization`.
  return "header" in scheme && scheme.header !== undefined
    ? [{ place: "headers", name: scheme.header, setting }]
    : [];
}

const described = (code: string, words: string) =>
  `${code}.describe(${literal(words)})`;

const secretCode = (words: string) =>
  `secret(${described("z.string().min(1)", words)})`;

const scopesCode = (scopes: readonly string[]): [string, string][] =>
  scopes.length > 0 ? [["scopes", literal(scopes)]] : [];

/** A part of a module. */
interface Made {
  /** The names that it imports from the package. */
  imports: string[];
  text: string;
  env: [string, string][];
}

function keysCode(
  keys: string,
  title: string,
  along: readonly SentAlong[],
): Made {
  const code = secretCode(`A key of this server's at ${title}.`);
  return {
    imports: ["secret", "z"],
    text: "/** The keys of this server that go along with the person's. */\n" +
      `export const ${keys} = ` +
      `${objectCode(along.map(({ setting }) => [setting, code]))};\n`,
    env: along.map(({ setting }) => [setting, literal(TEST_KEY)]),
  };
}

/** Generates the service of the operations that need no authentication. */
function openCode(
  { name, variable }: ServiceNames,
  title: string,
  address: ServerAddress,
): Made & UsedService {
  const names = { name, variable: `${variable}Open` };
  const fixed = { ...address, variables: [] };
  const made = startedCode(names, title, [], [], fixed, [], `${variable}.api`);
  const text =
    "/** The same API without an account, for what is open to all. */\n" +
    made.text;
  return { ...made, ...names, text, isPersonal: false, along: [], sent: [] };
}

function personalCode(
  { name, variable }: ServiceNames,
  title: string,
  scheme: Scheme & { kind: "code" | "key" },
  scopes: readonly string[],
  { api, template, variables }: ServerAddress,
): Made {
  if (!isAddress(api)) throw notAnApiAddress(api);
  const consts = variables.map(({ code, value, choices }) => {
    const others = choices.filter((it) => it !== value).slice(0, 20);
    const comment = others.length > 0
      ? `// Or ${shortLine(others.join(", "))}.\n`
      : "";
    return `${comment}const ${code} = ${literal(value)};\n`;
  }).join("");
  const options: [string, string][] = [
    ["api", templateCode(template, variables, "")],
    ["title", literal(title)],
    ...Object.entries(scheme.options)
      .map(([key, value]): [string, string] => [key, literal(value)]),
    ...scopesCode(scheme.kind === "code" ? scopes : []),
  ];
  const call = scheme.kind === "code" ? "account" : "personalKey";
  const own = name.replaceAll("_", "-").slice(0, 40);
  return {
    imports: [call],
    text: `${consts}${consts && "\n"}export const ${variable} = ` +
      `${call}("${own}", ${linesCode(options)});\n`,
    env: [],
  };
}

/** Generates the code of a URL, in which each variable becomes a name. */
function templateCode(
  template: string,
  variables: ServerAddress["variables"],
  prefix: string,
): string {
  if (variables.length === 0) return literal(template);
  const codes = new Map(variables.map(({ name, code }) => [name, code]));
  const text = template.replaceAll(
    /\{([\w-]+)\}/g,
    (part, name) => codes.has(name) ? `\${${prefix}${codes.get(name)}}` : part,
  );
  return `\`${text}\``;
}

/** Generates the code of an object with one member a line. */
function linesCode(members: readonly [string, string][]): string {
  return `{\n${members.map((it) => `${memberCode(it)},\n`).join("")}}`;
}

function startedCode(
  { name, variable }: ServiceNames,
  title: string,
  schemes: readonly Scheme[],
  scopes: readonly string[],
  { api, template, variables }: ServerAddress,
  sent: readonly SentAlong[],
  /** The code of the URL with default values. */
  usual = literal(api),
): Made {
  const prefix = name.toUpperCase();
  const url = `${prefix}_URL`;
  const hasParts = variables.length > 0;
  const settings: [string, string][] = [];
  const env: [string, string][] = [];
  const add = (setting: string, code: string, sample: string) => {
    settings.push([setting, code]);
    env.push([setting, sample]);
  };
  const usually = hasParts ? ".optional()" : `.default(${usual})`;
  // The address of accounts is in the code.
  const whose = usual === literal(api) ? "" : ", for tools without sign-in";
  const words = `The address of ${title}${whose}.`;
  const where = described(`z.url()${usually}`, words);
  add(url, where, "api.url");
  for (const { code, value, choices } of variables) {
    const schema = choices.length > 0
      ? `z.enum(${literal(choices)})`
      : "z.string().regex(/^[\\w.~-]+$/)";
    const part = `${schema}.default(${literal(value)})`;
    const words = `A part of the address of ${title}.`;
    settings.push([`${prefix}_${code}`, described(part, words)]);
  }
  const parts = templateCode(template, variables, `settings.${prefix}_`);
  const options: [string, string][] = [
    ["name", literal(name)],
    ["title", literal(title)],
    ["api", `settings.${url}${hasParts ? ` ?? ${parts}` : ""}`],
  ];
  const client = schemes.find((it) => it.kind === "client");
  if (client) {
    const [token, id, secret] = ["TOKEN_URL", "CLIENT_ID", "CLIENT_SECRET"]
      .map((end) => `${prefix}_${end}`);
    const there = `z.url().default(${literal(client.token)})`;
    const gives = described(there, `Where ${title} gives tokens.`);
    const own = `This server's application at ${title}.`;
    add(token, gives, "`${api.url}/token`");
    add(id, described("z.string().min(1)", own), '"an-id"');
    add(secret, secretCode("The secret of that application."), '"a-secret"');
    const members = Object.entries({ token, id, secret }).map(([key, name]) =>
      [key, `settings.${name}`] as [string, string]
    );
    options.push(["client", linesCode([...members, ...scopesCode(scopes)])]);
  }
  for (const { setting } of sent) {
    add(
      setting,
      secretCode(`This server's key at ${title}.`),
      literal(TEST_KEY),
    );
  }
  for (const [place, keys] of Map.groupBy(sent, ({ place }) => place)) {
    const values = keys.map(({ name, setting }) =>
      [name, `settings.${setting}`] as [string, string]
    );
    options.push([place, objectCode(values)]);
  }
  const hasSecret = settings.some(([, code]) => code.startsWith("secret("));
  return {
    imports: ["service", "z", ...hasSecret ? ["secret"] : []],
    text: `export const ${variable} = service({\n` +
      `name: ${literal(name)},\nsettings: ${linesCode(settings)},\n` +
      `start: ({ settings }) => httpApi(${linesCode(options)}),\n});\n`,
    env,
  };
}
