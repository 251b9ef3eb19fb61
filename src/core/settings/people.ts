/**
 * The settings of people: who may sign in, and which scopes people may be
 * granted.
 *
 * @module
 */
import { type Membership, MEMBERSHIPS } from "../caller.ts";
import {
  EntryError,
  type KnownNames,
  type ListEntry,
  type ListEntryOptions,
  parseListEntry,
} from "../oauth/list_entry.ts";
import { membershipPrefix } from "../oauth/person.ts";
import { parsePermissions, type PermissionRule } from "../oauth/permissions.ts";
import { ENTRA_ID, type ProviderConfig } from "./application.ts";
import { PROVIDER } from "./provider.ts";
import { renameFor } from "./providers.ts";
import { type NamedSetting, type Settings, settingsOf } from "./setting.ts";
import {
  anyText,
  ENCRYPTION_KEYS_SHAPE,
  listOf,
  type TextShape,
  wholeNumber,
} from "./shapes.ts";

const USERS = {
  shape: listOf("subjects, e-mail addresses or @domains"),
  default: [],
  example: "jo@example.com,@example.org",
} as const;

export const PEOPLE_SETTINGS = settingsOf({
  OAUTH_ALLOWED_USERS: {
    guards: true,
    ...USERS,
    words: "Who may sign in: subjects as in the log (`github:583231`), " +
      "verified e-mail addresses, `@domain`.",
    unset: "everyone the provider knows",
  },
  OAUTH_ADMINS: {
    ...USERS,
    words: "Who sees everyone's connections on `/account`.",
    unset: "no one",
  },
  OAUTH_BLOCKED: {
    guards: true,
    shape: listOf("subjects, e-mail addresses, @domains or client:ID"),
    default: [],
    words: "People who may not sign in, written in the same way, and clients " +
      "that no one may use (`client:ID`).",
    unset: "no one",
    example: "jo@example.com,@example.org",
  },
  OAUTH_LEDGER_DAYS: {
    words: "The days for which `/account` shows latest calls and approvals; " +
      "`0` keeps none.",
    shape: wholeNumber("days", 365),
    default: 30,
  },
  SECRETS_KEYS: {
    guards: true,
    words: "Keys that seal people's keys and tokens of other services: 32 " +
      "random bytes each (`openssl rand -base64 32`). The first one " +
      "seals, all of them open. See docs/sealing.md.",
    shape: ENCRYPTION_KEYS_SHAPE,
    default: [],
    unset: "tools that need people's accounts are off",
    fix: "Make one with: openssl rand -base64 32",
    secret: true,
  },
  APPROVALS: {
    guards: true,
    words: "Tools of which every call waits for a person: `tool=caller; " +
      "tool=scope`; `*` matches any letters. With a scope someone else " +
      "approves, to whom `OAUTH_PERMISSIONS` gives it; `+passkey` at the " +
      "end requires one. See docs/approvals.md.",
    shape: anyText(
      "entries tool=caller or tool=scope, separated by semicolons",
    ),
    unset: "only the tools whose authors ask for it",
    example: "delete_*=caller; refund=pay:approve",
  },
  OAUTH_PERMISSIONS: {
    guards: true,
    words: "Who may be granted what: `who=scope scope; who=scope`. Who is a " +
      "subject, a verified e-mail address, `@domain`, `group:`, `role:`, " +
      "`org:` or `team:` with a name, or `*`; a scope may be `*`. See " +
      "docs/access.md.",
    shape: anyText("entries who=scope scope, separated by semicolons"),
    unset: "everyone everything",
    example: "@example.com=*; group:staff=*",
  },
});

export interface PeopleConfig {
  /** The people who may sign in. An empty list means everyone. */
  allowedUsers: readonly ListEntry[];
  /** The people who may see everyone's grants. */
  admins: readonly ListEntry[];
  blocked: readonly ListEntry[];
  /**
   * The days for which a connection's latest calls are stored; 0 stores none.
   */
  ledgerDays: number;
  /**
   * The keys that encrypt people's secrets, the newest first. If empty, no
   * secrets can be stored.
   */
  secretsKeys: readonly string[];
}

export function parsePeople(
  settings: Settings,
  known: KnownNames,
): PeopleConfig {
  // Read so that a misspelt name is reported; the value was parsed earlier,
  // with the tools.
  settings.read(PEOPLE_SETTINGS.APPROVALS);
  return {
    allowedUsers: readList(
      settings,
      PEOPLE_SETTINGS.OAUTH_ALLOWED_USERS,
      known,
    ),
    admins: readList(settings, PEOPLE_SETTINGS.OAUTH_ADMINS, known, {
      groupFix: "Name each operator: anyone who may change a group at the " +
        "provider would see and end everyone's connections here",
    }),
    blocked: readList(settings, PEOPLE_SETTINGS.OAUTH_BLOCKED, known, {
      takes: ["client"],
      groupFix: "Name each person: who leaves a group must not be let in by " +
        "that. OAUTH_PERMISSIONS says which groups may do what",
    }),
    ledgerDays: settings.read(PEOPLE_SETTINGS.OAUTH_LEDGER_DAYS),
    secretsKeys: settings.read(PEOPLE_SETTINGS.SECRETS_KEYS),
  };
}

/** The kinds of memberships that each kind of provider reports. */
const KINDS: Readonly<
  Record<ProviderConfig["provider"], readonly Membership[]>
> = {
  github: ["organizations", "teams"],
  google: ["organizations"],
  microsoft: ["groups", "roles"],
  gitlab: ["groups"],
  oidc: ["groups", "roles", "organizations"],
  custom: ["groups", "roles", "organizations"],
  dev: MEMBERSHIPS,
};

/**
 * True if people sign in at the development provider, which accepts any name.
 */
function isTried({ providers }: KnownNames): boolean {
  return providers.some(({ kind }) => kind === "dev");
}

/**
 * Parses a list of people, and complains of every entry that matches no one.
 */
function readList(
  settings: Settings,
  setting: NamedSetting & {
    shape: TextShape<string[]>;
    default: readonly string[];
  },
  known: KnownNames,
  list: ListEntryOptions = {},
): ListEntry[] {
  return settings.read(setting).flatMap((text) => {
    try {
      const entry = parseListEntry(text, known, list);
      const isShort = entry.kind === "subject" && entry.subject !== text;
      // Letters only: probably a nickname, not the id that a provider gives a
      // person.
      if (isShort && /^[a-z]+$/i.test(text) && !isTried(known)) {
        settings.doubts.push(
          `${setting.name}: ${text} is read as the subject ${entry.subject}; ` +
            "an e-mail address has an @",
        );
      }
      return [entry];
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      const { why, fix } = error;
      const wants =
        `${setting.shape.wants}; this matches no one, because ${why}`;
      settings.complain(setting, { got: text, wants, fix });
      return [];
    }
  });
}

/**
 * Warns of rules about memberships that no configured provider reports; an
 * app's own provider may still report them. Complains of rules about
 * memberships that any tenant could give to its own people.
 */
function checkMemberships(
  settings: Settings,
  rules: readonly PermissionRule[],
  { providers, otherIds }: KnownNames,
): void {
  const kindsOf = ({ kind, key }: KnownNames["providers"][number]) => {
    const claim = renameFor(key)(PROVIDER.OAUTH_GROUPS_CLAIM);
    const kinds = [...KINDS[kind as ProviderConfig["provider"]]];
    const isNamed = settings.text(claim) !== undefined && kind !== "github";
    return isNamed ? [...kinds, "groups" as const] : kinds;
  };
  const provider = providers.map(({ kind }) => kind).join(",");
  for (const { who } of rules) {
    if (!("name" in who)) continue;
    const entry = `${membershipPrefix(who.kind)}:${who.name}`;
    // Microsoft chooses the ID of a group, so that it is unique.
    const isUnique = who.kind === "groups" && ENTRA_ID.test(who.name);
    const own = providers.filter(({ id }) =>
      !who.provider || who.provider === id
    );
    const shared = own.find((it) => it.isForEveryTenant && !isUnique);
    const kinds = new Set([
      ...own.flatMap((it) => it === shared ? [] : kindsOf(it)),
      // Assertions have the same claims as tokens of an OpenID provider.
      ...otherIds.length > 0 && !who.provider ? KINDS.oidc : [],
    ]);
    if (kinds.has(who.kind)) continue;
    if (shared) {
      const issuer = renameFor(shared.key)<NamedSetting>(PROVIDER.OAUTH_ISSUER);
      settings.complain(PEOPLE_SETTINGS.OAUTH_PERMISSIONS, {
        got: entry,
        wants: "memberships that a tenant of a stranger cannot give to its " +
          "people; of all tenants at microsoft only groups by their object ID",
        fix: `Name your tenant in ${issuer.name}: ` +
          "https://login.microsoftonline.com/TENANT/v2.0",
      });
      continue;
    }
    settings.doubts.push(
      `OAUTH_PERMISSIONS: ${entry} matches no one, ` +
        `because OAUTH_PROVIDER=${provider} tells of no ${who.kind}: use ` +
        `${
          [...kinds].map((kind) => `${membershipPrefix(kind)}:`).join(", ")
        }, or ` +
        "name people",
    );
  }
}

/** Parses the permissions, and complains of every wrong entry. */
export function readPermissions(
  settings: Settings,
  scopes: readonly string[],
  known: KnownNames,
): readonly PermissionRule[] | undefined {
  const got = settings.read(PEOPLE_SETTINGS.OAUTH_PERMISSIONS);
  if (got === undefined) return undefined;
  const { rules, complaints } = parsePermissions(got, scopes, known);
  const aboutScopes = scopes.length > 0
    ? `There are these scopes: ${scopes.join(" ")}, and * for all`
    : "Nothing here needs a scope: leave it unset";
  const { shape } = PEOPLE_SETTINGS.OAUTH_PERMISSIONS;
  for (const { got, why, fix = aboutScopes } of complaints) {
    const wants = `${shape.wants}; ${why}`;
    settings.complain(PEOPLE_SETTINGS.OAUTH_PERMISSIONS, { got, wants, fix });
  }
  checkMemberships(settings, rules, known);
  return rules;
}
