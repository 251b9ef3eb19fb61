/**
 * Data of your own, in SQLite, behind a service: its numbers are proposed where
 * a person fills in the resource's address. `deno run -A own_data.ts`.
 *
 * The server's own database is not the place: its keys are its own, and a
 * restore replaces them. `ISSUES_DB` is another file. Several processes may
 * have it open; none may keep in memory what another has to see.
 */
import { DatabaseSync } from "node:sqlite";
import {
  defineServer,
  resource,
  serve,
  service,
  tool,
  z,
} from "@tool-server/tool-server";

/** The issues. The table is made at the first start. */
const issues = service({
  name: "issues",
  settings: {
    ISSUES_DB: z.string().default("data/issues.db")
      .describe("The file of the issues."),
  },
  start({ settings }) {
    const database = new DatabaseSync(settings.ISSUES_DB);
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA busy_timeout = 5000;
      CREATE TABLE IF NOT EXISTS issues (
        number INTEGER PRIMARY KEY, title TEXT NOT NULL, author TEXT NOT NULL
      )`);
    return database;
  },
  stop: (database) => database.close(),
});

const openIssue = tool({
  name: "open_issue",
  description: "Opens an issue.",
  input: z.object({ title: z.string().min(1) }),
  output: z.object({ number: z.int() }),
  services: { issues },
  run({ title }, { services, caller }) {
    const { lastInsertRowid } = services.issues
      .prepare("INSERT INTO issues (title, author) VALUES (?, ?)")
      .run(title, caller.subject);
    return { number: Number(lastInsertRowid) };
  },
});

const issue = resource({
  uri: "issue://{number}",
  name: "issue",
  description: "An issue by its number.",
  services: { issues },
  complete: {
    number: (value, _known, { services }) =>
      services.issues
        .prepare("SELECT number FROM issues WHERE number LIKE ? || '%'")
        .all(value).map(({ number }) => `${number}`),
  },
  read: ({ number }, { services }) =>
    services.issues.prepare("SELECT title FROM issues WHERE number = ?")
      .get(number)?.title as string | undefined,
});

export const server = defineServer({
  name: "issues",
  version: "1.0.0",
  tools: [openIssue],
  resources: [issue],
});

if (import.meta.main) {
  await Deno.mkdir("data", { recursive: true });
  await serve(server);
}
