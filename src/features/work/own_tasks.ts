/**
 * The tasks of a signed-in person, in any client of theirs and under their
 * access tokens.
 *
 * Reading a task here needs no scopes: they limit what a client does in a
 * person's name, and this is the person. Tasks whose scopes the operator's
 * permissions deny to the person are hidden here too.
 *
 * @module
 */
import type { AccountServices } from "../account_page/account_pages.ts";
import { HttpError } from "../../core/errors.ts";
import { bindingAt } from "../../core/oauth/grant.ts";
import { jwtBindingOf } from "../../core/oauth/subject.ts";
import type { ClientInWords, ToolInWords } from "../../core/pages/names.tsx";
import type { AccountSession } from "../account_page/account_sessions.ts";
import type { ListedTask } from "./task_list.ts";
import type { Task } from "./tasks.ts";
import { workOf } from "./work_stores.ts";
import { clientInWords, clientNameOf } from "../account_page/client_words.ts";

const MAX_TASKS = 100;

/** A listed task, with its open questions if it has any. */
export type OwnTask = ListedTask & Partial<Task>;

/** Makes the reader of people's tasks. */
export function ownTasks(services: AccountServices) {
  const { baseUrl, permissions, grants, titleOf, needsAccount } = services;
  const { tasks } = workOf(services.server);

  /** True if the person may still be granted the scopes of a task's tool. */
  function isWithinReach(
    session: AccountSession,
    { scopes }: Pick<Task, "scopes">,
  ): boolean {
    const ceiling = permissions?.ceiling(session);
    return ceiling === undefined ||
      scopes.every((scope) => ceiling.includes(scope));
  }

  /**
   * Lists the bindings of the person's tasks: that of signing in, and that of
   * JWTs, if they may have any.
   */
  function bindingsOf({ subject }: AccountSession): string[] {
    const ofTokens = jwtBindingOf(subject);
    const own = bindingAt(baseUrl, subject);
    return ofTokens === undefined ? [own] : [own, ofTokens];
  }

  async function find(
    taskId: string,
    bindings: readonly string[],
  ): Promise<Task | undefined> {
    for (const binding of bindings) {
      const task = await tasks.find(taskId, binding);
      if (task) return task;
    }
  }

  return {
    /**
     * Finds a task of the person.
     *
     * @throws {HttpError} 404 for one that is another's, or gone
     */
    async find(session: AccountSession, taskId: string): Promise<Task> {
      const task = await find(taskId, bindingsOf(session));
      if (task && isWithinReach(session, task)) return task;
      throw new HttpError(404, "There is no such task of yours");
    },

    /** Lists the person's tasks, those that go on first. */
    async list(
      session: AccountSession,
    ): Promise<{ tasks: OwnTask[]; count: number }> {
      const bindings = bindingsOf(session);
      const listed = await tasks.newest(bindings, MAX_TASKS);
      const own = await Promise.all(
        listed.tasks.filter((task) => isWithinReach(session, task))
          .map(async (task) => {
            const isAsking = task.status === "input_required";
            if (!task.isUnattended && !isAsking) return task;
            // Reading a task begins a watch over its lease: it fails if its
            // process is gone.
            return { ...task, ...await find(task.taskId, bindings) };
          }),
      );
      return { ...listed, tasks: own };
    },

    /** Lets the person's work go on that may wait for an account. */
    async wake(session: AccountSession, service: string): Promise<void> {
      await tasks.wake(
        bindingsOf(session),
        (tool) => needsAccount(tool, service),
      );
    },

    /** Describes the clients that began tasks, by the grants of the tasks. */
    async clients(
      { subject }: AccountSession,
      of: readonly Pick<Task, "grantId">[],
    ): Promise<Map<string | undefined, ClientInWords>> {
      const ids = new Set(of.flatMap(({ grantId }) => grantId ?? []));
      const found = await Promise.all([...ids].map(grants.find));
      return new Map(
        found.flatMap((grant) => grant?.value ?? [])
          .filter((grant) => grant.subject === subject)
          .map((grant) => {
            const { isKnown, ...client } = clientInWords(grant, services);
            return [grant.id, {
              ...client,
              name: clientNameOf(grant),
              isKnown: isKnown || grant.kind === "token",
            }];
          }),
      );
    },

    /** Gives the name and the title of a task's tool. */
    toolOf({ tool }: Pick<Task, "tool">): Partial<ToolInWords> {
      return tool === undefined ? {} : { tool, toolTitle: titleOf(tool) };
    },
  };
}
