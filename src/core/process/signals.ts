/**
 * The end of a process: running calls may finish, then they are stopped, then
 * they are abandoned. A process may also end with its parent, even if the
 * parent was killed: it notices that its parent's process id has changed.
 * @module
 */
import { pause, SAME_SIGNAL_MILLISECONDS, within } from "../clock.ts";
import type { Log } from "../log/log.ts";
import type { Kv } from "../kv/kv.ts";
import type { Server } from "../server/server_options.ts";
import type { Socket } from "./socket.ts";

/** The durations of the steps in which a process ends. */
const ENDING_MILLISECONDS = {
  /**
   * Requests are still accepted, while `GET /ready` responds with 503: a proxy
   * that asks once a second sends new requests elsewhere.
   */
  leave: 2000,
  /** Calls may finish. Shorter than the ten seconds that supervisors wait. */
  finish: 8000,
  /** Stopped calls return their results, and the database is closed. */
  close: 1500,
};
/**
 * The durations on Deno Deploy, which kills the process five seconds after the
 * signal.
 */
const DEPLOYED_MILLISECONDS = { leave: 500, finish: 4000, close: 600 };
const CHECK_MILLISECONDS = 25;
/**
 * The maximum time from a signal to the end, unless the process is suspended.
 */
export const STOP_MILLISECONDS = ENDING_MILLISECONDS.leave +
  ENDING_MILLISECONDS.finish + ENDING_MILLISECONDS.close;

interface EndingProcess {
  server: Server;
  socket: Socket;
  kv: Kv;
  log: Log;
  deployed: boolean;
}

/**
 * Ends the process in good order after a signal; a second signal ends it at
 * once. A signal soon after the first is ignored, because one signal may arrive
 * twice: from a terminal, which sends it to all processes, and from `deno
 * task`, which passes it on. SIGHUP (a closed terminal) and the end of the
 * parent work like SIGTERM, but never as a second signal.
 */
export function stopOnSignal(ending: EndingProcess): void {
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT"]
    : ["SIGINT", "SIGTERM", "SIGHUP"];
  let stoppingSinceMilliseconds: number | undefined;
  const onSignal = async (signal: Deno.Signal) => {
    const time = performance.now();
    if (stoppingSinceMilliseconds !== undefined) {
      if (signal === "SIGHUP") return;
      if (time - stoppingSinceMilliseconds < SAME_SIGNAL_MILLISECONDS) return;
      await ending.log.flush();
      Deno.exit(1);
    }
    stoppingSinceMilliseconds = time;
    ending.log.logger("main").info("Stopping");
    // SIGINT comes from a person at a terminal, so there is no proxy to wait
    // for.
    await end(ending, signal !== "SIGINT");
    await ending.log.flush();
    Deno.exit(0);
  };
  for (const signal of signals) {
    Deno.addSignalListener(signal, () => onSignal(signal));
  }
  watchParent(Deno.args, () => onSignal("SIGHUP"));
}

async function end(
  { server, socket, kv, deployed }: EndingProcess,
  hasProxy: boolean,
): Promise<void> {
  // Subscription streams would never finish by themselves.
  server.endStreams();
  const times = deployed ? DEPLOYED_MILLISECONDS : ENDING_MILLISECONDS;
  const closed = leave(socket, deployed || hasProxy ? times.leave : 0);
  await within(times.finish, closed.then(() => whenIdle(server)));
  server.stop();
  await within(times.close, closed.then(() => server.close()));
  kv.close();
}

async function leave(socket: Socket, milliseconds: number): Promise<void> {
  socket.leave();
  await pause(milliseconds);
  await socket.close();
}

/** Resolves when no call and no task is running. */
async function whenIdle(server: Server): Promise<void> {
  while (server.running > 0) await pause(CHECK_MILLISECONDS);
}

/**
 * The flag that makes a process end with its parent. It may have the parent's
 * process id: `--with-parent=1234`.
 */
export const WITH_PARENT = "--with-parent";

/** The time between two checks of the parent. */
const PARENT_MILLISECONDS = 500;

/** The parent's process id at the start, for a flag without one. */
const firstParent = "Deno" in globalThis ? Deno.ppid : 0;

/**
 * Calls `onEnd` when the parent is gone; never for a process without the flag.
 *
 * @param args the arguments of the process
 */
export function watchParent(args: readonly string[], onEnd: () => void): void {
  const flag = args.find((arg) => arg.split("=")[0] === WITH_PARENT);
  if (flag === undefined) return;
  const parent = Number(flag.split("=")[1] ?? firstParent);
  const checking = setInterval(() => {
    if (Deno.ppid === parent) return;
    clearInterval(checking);
    onEnd();
  }, PARENT_MILLISECONDS);
}
