/**
 * Tests on a schema of their own in the database of `deno task test postgres`.
 *
 * @module
 */
import {
  openPostgres,
  type PostgresKv,
  type PostgresOptions,
} from "../../packages/postgres/mod.ts";
import { findPostgres } from "../kit/postgres.ts";
import { freshSchema, POSTGRES } from "../kit/databases.ts";

/** The surroundings of a test. */
interface Setting {
  /** The address, with the schema. */
  url: string;
  schema: string;
  /** Opens a handle, which is closed at the end. */
  open(options?: PostgresOptions): Promise<PostgresKv>;
  /** Runs SQL as the owner of everything. */
  sql(text: string): Promise<string>;
}

/** Defines a test; it is left out outside of `deno task test postgres`. */
export function postgresTest(
  name: string,
  run: (setting: Setting) => Promise<void>,
): void {
  Deno.test({
    name: POSTGRES ? name : `${name}, left out: see deno task test postgres`,
    ignore: !POSTGRES,
    async fn() {
      const url = freshSchema();
      await using stack = new AsyncDisposableStack();
      await run({
        url,
        schema: new URL(url).searchParams.get("schema")!,
        async open(options) {
          return stack.use(await openPostgres(url, options));
        },
        sql,
      });
    },
  });
}

async function sql(text: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(
    `${findPostgres()}/psql`,
    { args: ["-d", POSTGRES!, "-Atq", "-v", "ON_ERROR_STOP=1", "-c", text] },
  ).output();
  const decoder = new TextDecoder();
  if (success) return decoder.decode(stdout).trim();
  throw new Error(decoder.decode(stderr));
}
