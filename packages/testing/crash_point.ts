/**
 * The place in durable work at which its process dies in a test.
 *
 * @module
 */

/** The moment at which a process dies; by default at once. */
export interface CrashPoint {
  /** The step, question or sleep after which it dies, once that is kept. */
  after?: string;
  /** The step in which it dies: it was done, and is not kept. */
  in?: string;
}

/**
 * Lets the process of a task die, and another one take its work over.
 *
 * @param onDeath is called before the work is taken over
 * @param signal fires when it must not die any more
 */
export type Crash = (
  taskId: string,
  point: CrashPoint,
  onDeath: () => void,
  signal: AbortSignal,
) => Promise<void>;
