/**
 * Complaints about `HOST` and `PORT` of which the system alone knows.
 *
 * @module
 */
import { ConfigError, type SettingComplaint } from "../settings/complaint.ts";
import type { Environment } from "../settings/setting.ts";

/** Makes the complaint about an address at which no one can listen. */
export function addressComplaint(
  error: unknown,
  { host, port }: { host: string; port: number },
): SettingComplaint {
  if (error instanceof Deno.errors.AddrInUse) {
    return {
      variable: "PORT",
      got: `${port}`,
      wants: `a port that is free on ${host}`,
      fix: "Stop the other program, or use another port",
    };
  }
  const { message } = error as Error;
  return {
    variable: "HOST",
    got: host,
    wants: `an address of this machine: ${message}`,
    fix: "Use 127.0.0.1 for this machine only, or 0.0.0.0 for every network",
  };
}

/**
 * Adds to the complaints of a start that ends before it listens the one that
 * the system has about `HOST`, so that all of them are seen at once.
 */
export function withAddress(error: Error, { HOST }: Environment): Error {
  const host = HOST?.trim();
  if (!host || !(error instanceof ConfigError)) return error;
  const { complaints } = error;
  if (complaints.some(({ variable }) => variable === "HOST")) return error;
  try {
    Deno.listen({ hostname: host, port: 0 }).close();
    return error;
  } catch (refusal) {
    const own = addressComplaint(refusal, { host, port: 0 });
    return new ConfigError([own, ...complaints]);
  }
}
