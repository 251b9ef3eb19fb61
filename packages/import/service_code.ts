/**
 * The service of a document, in code: an account of each person, a key of each
 * person, or a key of the server.
 *
 * @module
 */
import { PACKAGE } from "../create/source.ts";
import { isAddress } from "../../src/authoring/personal_key.ts";
import { shown } from "./document.ts";
import { literal, memberName, objectCode, snakeCase } from "./names.ts";
import type { Scheme, Security } from "./security.ts";
import { notOfApi, type ServerAddress } from "./servers.ts";
import type { ServiceNames } from "./source.ts";

/** A further key, which the server sends along with the person's key. */
interface SentAlong {
  place: "headers" | "query" | "cookies";
  name: string;
  setting: string;
}

/** The module of a service, and the facts about it that its tools need. */
export interface ServiceCode {
  text: string;
  /**
   * True if people connect their own accounts; false if the server has one key.
   */
  isPersonal: boolean;
  /** The constant that has the settings of the keys that tools send along. */
  keys?: string;
  along: readonly SentAlong[];
  /** The settings of a test by name, each with its code, such as `api.url`. */
  env: readonly [string, string][];
  notes: readonly string[];
}

/** Generates the module of a service. */
export function serviceCode(
  { name, variable }: ServiceNames,
  title: string,
  { schemes, scopes }: Security,
  address: ServerAddress,
): ServiceCode {
  const [first, ...rest] = schemes;
  const prefix = name.toUpperCase();
  const isPersonal = first?.kind === "code" || first?.kind === "key";
  const along = (isPersonal ? rest : []).flatMap((scheme) =>
    sentAlong(scheme, prefix)
  );
  const notes = [
    ...address.notes,
    ...schemes.filter(({ kind }) => kind === "query" || kind === "cookie")
      .map(({ kind }) =>
        kind === "query"
          ? "Its key goes into addresses, which proxies may log: the document has no other place."
          : "Its key goes into a cookie: the document has no other place."
      ),
    ...along.length > 0
      ? [
        "It wants two keys: the first is each person's, the other the server's.",
      ]
      : [],
  ];
  const keys = along.length > 0 ? `${variable}Keys` : undefined;
  const made = isPersonal
    ? personalCode({ name, variable }, title, first, scopes, address)
    : startedCode({ name, variable }, title, schemes, scopes, address);
  const secrets = along.map(({ setting }): [string, string] => [
    setting,
    secretCode(`A key of this server's at ${title}.`),
  ]);
  const names = [...made.names, ...keys ? ["secret", "z"] : []];
  const exported = keys
    ? `\n/** The keys of this server that go along with the person's. */\n` +
      `export const ${keys} = ${objectCode(secrets)};\n`
    : "";
  return {
    text: `import { ${[...new Set(names)].sort().join(", ")} } from ` +
      `"${PACKAGE}";\n${made.imports}\n${made.text}${exported}`,
    isPersonal,
    ...keys && { keys },
    along,
    env: [
      ...made.env,
      ...along.map(({ setting }): [string, string] => [setting, '"a-key"']),
    ],
    notes,
  };
}

/** @param isOnly true if this is the service's only key */
function sentAlong(
  scheme: Scheme,
  prefix: string,
  isOnly = false,
): SentAlong[] {
  const own = isOnly ? "" : snakeCase(scheme.name, 40).toUpperCase();
  const setting = `${prefix}_${own || "KEY"}`;
  switch (scheme.kind) {
    case "query":
      return [{ place: "query", name: scheme.parameter, setting }];
    case "cookie":
      return [{ place: "cookies", name: scheme.parameter, setting }];
    case "key":
      // A request cannot have a second `Authorization`.
      return scheme.header === undefined
        ? []
        : [{ place: "headers", name: scheme.header, setting }];
    default:
      return [];
  }
}

const secretCode = (words: string) =>
  `secret(z.string().min(1).describe(${literal(words)}))`;

/** The parts of a module. */
interface Made {
  names: string[];
  imports: string;
  text: string;
  env: [string, string][];
}

function personalCode(
  { name, variable }: ServiceNames,
  title: string,
  scheme: Scheme & { kind: "code" | "key" },
  scopes: readonly string[],
  { api, template, variables }: ServerAddress,
): Made {
  if (!isAddress(api)) throw notOfApi(api);
  const consts = variables.map(({ name, value, choices }) => {
    const others = choices.filter((it) => it !== value).slice(0, 20);
    const comment = others.length > 0
      ? `// Or ${shown(others.join(", "))}.\n`
      : "";
    return `${comment}const ${constOf(name)} = ${literal(value)};\n`;
  }).join("");
  const options: [string, string][] = [
    ["api", templateCode(template, variables, constOf)],
    ["title", literal(title)],
  ];
  if (scheme.kind === "code") {
    for (const [key, value] of scheme.options) {
      options.push([key, literal(value)]);
    }
    if (scopes.length > 0) options.push(["scopes", literal(scopes)]);
  } else {
    if (scheme.help) options.push(["help", literal(scheme.help)]);
    if (scheme.header) options.push(["header", literal(scheme.header)]);
    if (scheme.scheme !== undefined) {
      options.push(["scheme", literal(scheme.scheme)]);
    }
  }
  const call = scheme.kind === "code" ? "account" : "personalKey";
  const own = name.replaceAll("_", "-").slice(0, 40);
  return {
    names: [call],
    imports: "",
    text: `${consts}${consts && "\n"}export const ${variable} = ` +
      `${call}("${own}", ${linesCode(options)});\n`,
    env: [],
  };
}

const constOf = (name: string) => snakeCase(name).toUpperCase() || "PART";

/** Generates the code of an address, in which each variable becomes a name. */
function templateCode(
  template: string,
  variables: ServerAddress["variables"],
  code: (name: string) => string,
): string {
  if (variables.length === 0) return literal(template);
  const text = variables.reduce(
    (text, { name }) => text.replaceAll(`{${name}}`, `\${${code(name)}}`),
    template,
  );
  return `\`${text}\``;
}

/** Generates the code of an object with one member a line. */
function linesCode(members: readonly [string, string][]): string {
  const lines = members.map(([name, code]) =>
    name === code ? `${name},\n` : `${memberName(name)}: ${code},\n`
  );
  return `{\n${lines.join("")}}`;
}

function startedCode(
  { name, variable }: ServiceNames,
  title: string,
  schemes: readonly Scheme[],
  scopes: readonly string[],
  { api, template, variables }: ServerAddress,
): Made {
  const prefix = name.toUpperCase();
  const url = `${prefix}_URL`;
  const hasParts = variables.length > 0;
  const settings: [string, string][] = [[
    url,
    `z.url()${hasParts ? ".optional()" : `.default(${literal(api)})`}` +
    `.describe(${literal(`The address of ${title}.`)})`,
  ]];
  const settingOf = (part: string) => `${prefix}_${constOf(part)}`;
  for (const { name, value, choices } of variables) {
    const schema = choices.length > 0
      ? `z.enum(${literal(choices)})`
      : "z.string().regex(/^[\\w.~-]+$/)";
    settings.push([
      settingOf(name),
      `${schema}.default(${literal(value)})` +
      `.describe(${literal(`A part of the address of ${title}.`)})`,
    ]);
  }
  const inCode = (part: string) => `settings.${settingOf(part)}`;
  const options: [string, string][] = [
    ["name", literal(name)],
    ["title", literal(title)],
    [
      "api",
      hasParts
        ? `settings.${url} ?? ${templateCode(template, variables, inCode)}`
        : `settings.${url}`,
    ],
  ];
  const env: [string, string][] = [[url, "api.url"]];
  const keys: [SentAlong["place"], string, string][] = [];
  for (const scheme of schemes) {
    if (scheme.kind === "client") {
      settings.push(
        [
          `${prefix}_TOKEN_URL`,
          `z.url().default(${literal(scheme.token)})` +
          `.describe(${literal(`Where ${title} gives tokens.`)})`,
        ],
        [
          `${prefix}_CLIENT_ID`,
          "z.string().min(1)" +
          `.describe(${literal(`This server's application at ${title}.`)})`,
        ],
        [
          `${prefix}_CLIENT_SECRET`,
          secretCode("The secret of that application."),
        ],
      );
      options.push([
        "client",
        linesCode([
          ["token", `settings.${prefix}_TOKEN_URL`],
          ["id", `settings.${prefix}_CLIENT_ID`],
          ["secret", `settings.${prefix}_CLIENT_SECRET`],
          ...scopes.length > 0
            ? [["scopes", literal(scopes)] as [string, string]]
            : [],
        ]),
      ]);
      env.push(
        [`${prefix}_TOKEN_URL`, "`${api.url}/token`"],
        [`${prefix}_CLIENT_ID`, '"an-id"'],
        [`${prefix}_CLIENT_SECRET`, '"a-secret"'],
      );
    }
    const isOnly = schemes.length === 1;
    for (const { place, name, setting } of sentAlong(scheme, prefix, isOnly)) {
      settings.push([setting, secretCode(`This server's key at ${title}.`)]);
      keys.push([place, name, `settings.${setting}`]);
      env.push([setting, '"a-key"']);
    }
  }
  for (const [place, members] of Map.groupBy(keys, ([place]) => place)) {
    const values = members.map(([, ...it]) => it);
    options.push([place, objectCode(values)]);
  }
  const hasSecret = settings.some(([, code]) => code.startsWith("secret("));
  return {
    names: ["service", "z", ...hasSecret ? ["secret"] : []],
    imports: `import { httpApi } from "${PACKAGE}/api";\n`,
    text: `export const ${variable} = service({\n` +
      `name: ${literal(name)},\nsettings: ${linesCode(settings)},\n` +
      `start: ({ settings }) => httpApi(${linesCode(options)}),\n});\n`,
    env,
  };
}
