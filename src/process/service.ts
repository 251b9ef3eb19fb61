/**
 * The rule for telling a service from a program that a person started. A person
 * in a folder may use that folder's database; a service must be told which to
 * use.
 *
 * @module
 */

/** The id of the first process of a container. */
const FIRST = 1;

/** The facts about how a process was started. */
export interface Origin {
  pid: number;
  ppid: number;
  /**
   * `SYSTEMD_EXEC_PID`: the process that systemd started; its descendants
   * inherit the variable.
   */
  systemdPid?: string;
  /** `DENO_USE_CGROUPS`: set in Deno's images, where `tini` is the first. */
  image?: string;
  /** True if its output goes to a terminal. */
  terminal: boolean;
}

/**
 * True if systemd started it, directly or through `deno task`, or if it is a
 * container's main process. `INVOCATION_ID` proves nothing: a desktop's
 * terminals inherit it from their service. Nor do the marks of a container:
 * people develop in containers too. Nor does a parent with the number 1, which
 * adopts all background processes; only in Deno's images it is the parent of a
 * service.
 */
export function isService(
  { pid, ppid, systemdPid, image, terminal }: Origin,
): boolean {
  if (terminal) return false;
  if (pid === FIRST || image !== undefined && ppid === FIRST) return true;
  return [pid, ppid].map(String).includes(systemdPid ?? "");
}
