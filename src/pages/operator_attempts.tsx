/** @jsxImportSource @hono/hono/jsx */
/**
 * The last attempts to connect, for operators, with why they failed.
 *
 * @module
 */
import { visible } from "../log/log_line.ts";
import { displayName } from "./display_name.ts";
import { Moment } from "./moment.tsx";
import { Table } from "./table.tsx";

/** One step of an attempt to connect, as it ended. */
export interface OperatorAttempt {
  /** Epoch seconds. */
  at: number;
  /** `GET /authorize`. */
  step: string;
  /** The client's name or id; undefined if neither is known. */
  client?: string;
  /** Undefined: it went well. */
  failure?: string;
  /** The number of times the same was seen. */
  count: number;
}

/** The last attempts, newest first. */
export function OperatorAttempts(
  { attempts, now }: { attempts: readonly OperatorAttempt[]; now: number },
) {
  return (
    <Table
      label="The last attempts to connect"
      empty="No one has tried in the last 30 days. Connect a client: the start page says how."
      columns={["When", "Step", "Client", "Outcome"]}
      rows={attempts.map(({ at, step, client, failure, count }) => [
        <Moment at={at} now={now} />,
        <code>{step}</code>,
        <bdi>{client ? displayName(client) : "unknown"}</bdi>,
        failure
          ? (
            <>
              <span class="badge bad">Failed</span> {visible(failure)}
              {count > 1 && ` (${count} times)`}
            </>
          )
          : <span class="badge good">Went well</span>,
      ])}
    />
  );
}
