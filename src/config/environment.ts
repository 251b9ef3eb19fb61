/**
 * The variables of the environment: their names, how they are read, and the
 * complaints about wrong ones.
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
  "AUDIT_LOG",
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
  "OTEL_DENO_CONSOLE",
  "OTEL_EXPORTER_OTLP_TIMEOUT",
] as const;

/** One of {@linkcode VARIABLES}. */
export type Variable = typeof VARIABLES[number];

/** A fault in one variable, and its fix. */
export interface Complaint {
  /** One of {@linkcode VARIABLES}, or a setting that an author declared. */
  variable: string;
  /** The value found; undefined if nothing was set. Never a secret. */
  got?: string;
  /** The value wanted instead. */
  wants: string;
  /** The way to fix it. */
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

/** The schema of a variable, and the messages for a wrong value. */
interface Setting<T> {
  schema: z.ZodType<T>;
  wants: string;
  fix: string;
  /** True if the value must not appear in a complaint. */
  secret?: boolean;
}

/** Hides the user and the password of an address. */
function withoutPassword(text: string): string {
  return text.replaceAll(/\/\/[^/?#]*@/g, "//(hidden)@");
}

/** Reads settings one by one and collects the complaints. */
export class Settings {
  readonly complaints: Complaint[] = [];
  constructor(readonly environment: Environment) {}

  /** Gives the text of a variable; undefined if it is unset or blank. */
  text(variable: string): string | undefined {
    return this.environment[variable]?.trim() || undefined;
  }

  /**
   * Gives the parsed value; undefined if it is unset or (with a complaint)
   * wrong.
   */
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

  /** Reads as {@linkcode read}, with a complaint if the variable is unset. */
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
