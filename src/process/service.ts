/**
 * Whether this process is a service: what a person starts in a folder may use
 * that folder's database, what a machine starts has to be told which.
 *
 * @module
 */

/** The process that adopts orphans, and the first one of a container. */
const INIT = 1;

/** What is known of who started a process. */
export interface Origin {
  pid: number;
  ppid: number;
  /** `SYSTEMD_EXEC_PID`: systemd says whom it started, and all heirs see it. */
  systemdPid?: string;
  /** Whether a person looks at what it prints. */
  terminal: boolean;
}

/**
 * Whether systemd, launchd or a container started it, by itself or through
 * `deno task`. `INVOCATION_ID` would not tell: a desktop's terminals inherit
 * it from the service that they run in. Nor would a container's marks: people
 * develop in containers too, but not as their first process.
 */
export function isService({ pid, ppid, systemdPid, terminal }: Origin) {
  if (terminal) return false;
  return [pid, ppid].some((id) => id === INIT || String(id) === systemdPid);
}
