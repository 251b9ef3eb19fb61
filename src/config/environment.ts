/**
 * Variables of the environment: which there are, how one is read, and what is
 * said about one that is wrong.
 *
 * @module
 */
import type * as z from "zod";

/** Every variable that is ever read. */
export const VARIABLES = [
  "HOST",
  "PORT",
  "REUSE_PORT",
  "BASE_URL",
  "TRUSTED_PROXIES",
  "CALLS_PER_MINUTE",
  "KV_PATH",
  "DENO_KV_ACCESS_TOKEN",
  "ALLOWED_ORIGINS",
  "LOG_LEVEL",
  "MCP_TITLE",
  "MCP_INSTRUCTIONS",
  "SERVER_CARD",
  "OPENAI_APPS_CHALLENGE",
  "AUTH_STRATEGY",
  "AUTH_ANONYMOUS",
  "OAUTH_PROVIDER",
  "OAUTH_PROVIDER_NAME",
  "OAUTH_CLIENT_ID",
  "OAUTH_CLIENT_SECRET",
  "OAUTH_SCOPES",
  "OAUTH_EXTRA_AUTH_PARAMS",
  "OAUTH_ISSUER",
  "OAUTH_AUTHORIZATION_URL",
  "OAUTH_TOKEN_URL",
  "OAUTH_USERINFO_URL",
  "OAUTH_REVOCATION_URL",
  "OAUTH_ALLOWED_USERS",
  "OAUTH_ADMINS",
  "OAUTH_LEDGER_DAYS",
  "OAUTH_CLIENTS",
  "OAUTH_REGISTRATION",
  "OAUTH_REDIRECT_HOSTS",
  "OAUTH_TRUSTED_CLIENTS",
  "OAUTH_ASSERTION_ISSUERS",
  "OAUTH_PERMISSIONS",
  "OAUTH_GROUPS_CLAIM",
  "CIMD_ENABLED",
  "CIMD_ALLOWED_DOMAINS",
  "BEARER_TOKEN",
  "API_KEY",
  "API_KEY_HEADER",
  "JWT_ISSUER",
  "JWT_AUDIENCE",
  "JWT_JWKS_URL",
  "JWT_LEEWAY",
  "JWT_TYPE",
  "JWT_SCOPE_CLAIM",
  "DENO_DEPLOYMENT_ID",
  "DENO_USE_CGROUPS",
  "SYSTEMD_EXEC_PID",
] as const;

/** One of {@linkcode VARIABLES}. */
export type Variable = typeof VARIABLES[number];

/** What is wrong with one variable, and how to fix it. */
export interface Complaint {
  /** One of {@linkcode VARIABLES}, or a setting that an author declared. */
  variable: string;
  /** What was found; undefined when nothing was set. Never a secret. */
  got?: string;
  /** What is wanted instead. */
  wants: string;
  /** What to do about it. */
  fix: string;
}

/** All complaints about an environment. */
export class ConfigError extends Error {
  /** The name of the class. */
  override name = "ConfigError";
  /** Tells every complaint, one to a line. */
  constructor(readonly complaints: readonly Complaint[]) {
    super(
      ["These settings need fixing:", ...complaints.map(complaintLine)].join(
        "\n",
      ),
    );
  }
}

function complaintLine({ variable, got, wants, fix }: Complaint): string {
  return `  ${variable}: got ${
    got === undefined ? "nothing" : JSON.stringify(got)
  }, wants ${wants}. ${fix}`;
}

/** The variables as found: unset and empty mean the same. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One variable: its shape, and the words for when it has another. */
interface Setting<T> {
  schema: z.ZodType<T>;
  wants: string;
  fix: string;
  /** Keeps what was found out of the complaint. */
  secret?: boolean;
}

/** An address without the user and the password in front of its host. */
function withoutPassword(text: string): string {
  return text.replaceAll(/\/\/[^/?#]*@/g, "//(hidden)@");
}

/** Reads settings one by one and remembers what was wrong with them. */
export class Settings {
  readonly complaints: Complaint[] = [];
  constructor(readonly environment: Environment) {}

  /** The text of a variable; undefined when it is unset or blank. */
  text(variable: string): string | undefined {
    return this.environment[variable]?.trim() || undefined;
  }

  /** The parsed value, or undefined when unset or (with a complaint) wrong. */
  read<T>(variable: string, setting: Setting<T>): T | undefined {
    const got = this.text(variable);
    if (got === undefined) return undefined;
    const parsed = setting.schema.safeParse(got);
    if (parsed.success) return parsed.data;
    const { wants, fix, secret } = setting;
    this.complain({
      variable,
      got: secret ? "(hidden)" : withoutPassword(got),
      wants,
      fix,
    });
    return undefined;
  }

  /** {@linkcode read}, with a complaint when the variable is unset. */
  require<T>(variable: string, setting: Setting<T>): T | undefined {
    if (this.text(variable) === undefined) {
      this.complain({ variable, wants: setting.wants, fix: setting.fix });
      return undefined;
    }
    return this.read(variable, setting);
  }

  complain(complaint: Complaint): void {
    this.complaints.push(complaint);
  }
}
