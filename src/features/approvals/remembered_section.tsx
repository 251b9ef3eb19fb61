/** @jsxImportSource @hono/hono/jsx */
/**
 * The remembered approvals of a person on the account page, each with a button
 * that ends it.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Child } from "@hono/hono/jsx";
import { AccountForm } from "../../core/pages/layout.tsx";
import { ClientName, ToolTitle } from "../../core/pages/names.tsx";
import { FutureTime } from "../../core/pages/times.tsx";
import {
  type AccountPageServices,
  type AccountPageVisit,
  type FormServices,
  redirectBack,
} from "../account_page/account_pages.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";
import { hasDefinition } from "./approval_content.ts";
import { approvalTools } from "./approval_tools.ts";
import { harmlessLine } from "./approval_page.tsx";
import { NO_WORDS } from "./receipts.ts";
import {
  MAX_REMEMBERED_RUNS,
  type RememberedApproval,
  rememberedStore,
} from "./remembered.ts";

/** The reasons for which a remembered approval allows no call any more. */
const ENDS = {
  changed:
    "This server or the tool has changed since, so this allows nothing any more.",
  unasked:
    "This tool asks for no approval any more: its calls run with or without this.",
} as const;

/** Compares the server and the tool with those of a remembered approval. */
async function endOf(
  server: OpenedServer,
  { tool: name, definition }: RememberedApproval,
): Promise<keyof typeof ENDS | undefined> {
  const tool = approvalTools.get(server)?.tools.get(name);
  if (tool && !tool.approval) return "unasked";
  const isSame = tool?.approval?.remember &&
    (definition === undefined ||
      await hasDefinition(server, tool, definition));
  return isSame ? undefined : "changed";
}

/** Null if the person has no remembered approvals. */
export async function rememberedSection(
  { session: { subject }, form, now }: AccountPageVisit,
  { server, database, titleOf }: AccountPageServices,
): Promise<Child> {
  const all = await rememberedStore(database).list(subject);
  if (all.length === 0) return null;
  const ends = await Promise.all(all.map((it) => endOf(server, it)));
  return (
    <section>
      <h2>Without asking you</h2>
      <div class="card">
        <ul class="rows">
          {all.map((
            { name, label = NO_WORDS, tool, clientName, runs, expiresAt },
            index,
          ) => (
            <li>
              <div class="row-head">
                <h3 class="row-title">
                  <bdi>{harmlessLine(label)}</bdi>
                </h3>
                <AccountForm
                  {...form}
                  action="/account/remembered"
                  fields={{ name, label }}
                >
                  <button class="quiet" type="submit">
                    End
                    <span class="visually-hidden">
                      {` ${harmlessLine(label)}`}
                    </span>
                  </button>
                </AccountForm>
              </div>
              {ends[index] && <p class="note warn">{ENDS[ends[index]]}</p>}
              <p class="small soft">
                <ClientName name={clientName ?? ""} />{" "}
                {ends[index] ? "was allowed to use" : "may use"}{" "}
                <ToolTitle tool={tool} toolTitle={titleOf(tool)} hasName />{" "}
                for it until{" "}
                <FutureTime at={expiresAt} now={now} />. Runs so far: {runs}
                {runs < MAX_REMEMBERED_RUNS || ends[index]
                  ? "."
                  : ", so the next call asks you."}
              </p>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

export function endRememberedHandler(
  { signedIn, database, returnPaths, log }: FormServices,
): (c: Context) => Promise<Response> {
  return async (c) => {
    const { id, session: { subject }, form } = await signedIn.findForm(c);
    const name = form.require("name");
    const ended = await rememberedStore(database).end(subject, name);
    if (ended) {
      const { tool, grantId, clientName: client } = ended;
      const reference = c.get("reference");
      const of = { reference, subject, tool, grantId, client };
      log.audit("Remembered approval ended on the account page", of);
    }
    const names = [harmlessLine(form.get("label") ?? "")];
    const change = ended ? "asksAgain" : "over";
    return await redirectBack(c, returnPaths, { id, form }, { change, names });
  };
}
