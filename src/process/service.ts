/**
 * Whether this process is a service: what a person starts in a folder may use
 * that folder's database, what a machine starts has to be told which.
 *
 * @module
 */

/** The first process of a container. */
const FIRST = 1;

/** What is known of who started a process. */
export interface Origin {
  pid: number;
  ppid: number;
  /** `SYSTEMD_EXEC_PID`: systemd says whom it started, and all heirs see it. */
  systemdPid?: string;
  /** `DENO_USE_CGROUPS`: Deno's images set it, whose first process is `tini`. */
  image?: string;
  /** Whether a person looks at what it prints. */
  terminal: boolean;
}

/**
 * Whether systemd started it, by itself or through `deno task`, or it is what a
 * container runs. `INVOCATION_ID` would not tell: a desktop's terminals inherit
 * it from the service that they run in. Nor would a container's marks, for
 * people develop in containers too; nor a parent with the number 1, which
 * adopts whatever is left to run in the background; but in Deno's images it is
 * what starts the service.
 */
export function isService(
  { pid, ppid, systemdPid, image, terminal }: Origin,
): boolean {
  if (terminal) return false;
  if (pid === FIRST || image !== undefined && ppid === FIRST) return true;
  return [pid, ppid].map(String).includes(systemdPid ?? "");
}
