/**
 * The tasks of a signed-in person, in any client of theirs and under their
 * access tokens.
 *
 * Reading a task here needs no scopes, which a client would need: they bound
 * what a client does in a person's name, and this is the person. What an
 * operator's permissions keep from the person is kept from them here too.
 *
 * @module
 */
import type { AccountSession } from "../../store/account_sessions.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { ListedTask } from "../../store/task_list.ts";
import type { Task, TaskStore } from "../../store/tasks.ts";
import { bindingOf } from "../rules/grant.ts";
import type { Permissions } from "../rules/permissions.ts";
import { resourceOf } from "../rules/resource.ts";
import { clientNameOf } from "./grant_words.ts";

/** The most tasks of a page. */
export const MOST_TASKS = 100;

/** The sources of a person's tasks. */
export interface OwnWorkSources {
  baseUrl: string;
  permissions?: Permissions;
  grants: Pick<GrantStore, "find">;
  tasks: Pick<TaskStore, "find" | "newest">;
}

export type OwnWork = ReturnType<typeof ownWork>;

/** Makes the reader of people's tasks. */
export function ownWork(
  { baseUrl, permissions, grants, tasks }: OwnWorkSources,
) {
  const resource = resourceOf(baseUrl);

  function bindingOfPerson({ subject }: AccountSession): string {
    return bindingOf({ issuer: baseUrl, resource, subject });
  }

  /** True if the person may still be granted what a task's tool needed. */
  function isWithinReach(
    session: AccountSession,
    { scopes }: Pick<Task, "scopes">,
  ): boolean {
    const ceiling = permissions?.ceiling(session);
    return ceiling === undefined ||
      scopes.every((scope) => ceiling.includes(scope));
  }

  return {
    /** Finds a task of the person; undefined for anyone else's. */
    async find(
      session: AccountSession,
      taskId: string,
    ): Promise<Task | undefined> {
      const task = await tasks.find(taskId, bindingOfPerson(session));
      return task && isWithinReach(session, task) ? task : undefined;
    },

    /** Lists the person's tasks, those that go on first. */
    async list(
      session: AccountSession,
    ): Promise<{ tasks: ListedTask[]; count: number }> {
      const binding = bindingOfPerson(session);
      const listed = await tasks.newest(binding, MOST_TASKS);
      // One whose process is gone fails once someone looks at it for a while.
      await Promise.all(
        listed.tasks.filter(({ isUnattended }) => isUnattended)
          .map(({ taskId }) => tasks.find(taskId, binding)),
      );
      return {
        ...listed,
        tasks: listed.tasks.filter((task) => isWithinReach(session, task)),
      };
    },

    /** Names the clients of tasks by the grants that they were begun under. */
    async clientNames(
      { subject }: AccountSession,
      of: readonly Pick<Task, "grantId">[],
    ): Promise<Map<string | undefined, string>> {
      const ids = new Set(of.flatMap(({ grantId }) => grantId ?? []));
      const found = await Promise.all([...ids].map(grants.find));
      return new Map(
        found.filter((grant) => grant?.value.subject === subject)
          .map((grant) => [grant!.value.id, clientNameOf(grant!.value)]),
      );
    },
  };
}
