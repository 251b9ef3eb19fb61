import assert from "node:assert/strict";
import { startProxy } from "../conformance/proxy.ts";
import { Browser } from "../kit/browser.ts";
import { factsOf } from "./language_client.ts";
import {
  type Command,
  goProgram,
  has,
  pythonScript,
  pythonWith,
} from "./languages.ts";
import {
  type ServerProcess,
  startServerProcess,
} from "../kit/server_process.ts";

const ENTRY = "tests/interop/clients_server.ts";

/** The findings of every client, in any language. */
const FACTS = {
  tools: [
    "greet",
    "bare",
    "fill",
    "count",
    "wait",
    "cancelled",
    "large",
    "late",
    "open",
    "guarded",
  ],
  templates: ["note"],
  prompts: ["explain"],
  greet: "Hello, Ada!",
  bare: "without arguments",
  note: "Note 7",
  explain: "Explain tides",
  fill: "Ada",
  count: "counted",
  steps: [1, 2, 3],
  large: 2_000_000,
  late: 2_000_000,
  cancelled: true,
};

/**
 * A client: its name, the command that starts it, and the revision it
 * negotiates.
 */
interface Client {
  name: string;
  command(): Promise<Command>;
  revision?: string;
}

/**
 * Expects a failure of Python's for 2026: a slow call is a stream, whose events
 * Python limits to 1 MiB.
 */
function expectedOf(revision: string | undefined) {
  const { late, ...facts } = FACTS;
  return { ...facts, ...(revision !== "2026-07-28" && { late }), revision };
}

const PYTHON = {
  mcp1: "mcp==1.30.0",
  mcp2: "mcp==2.3.0",
  fastmcp: "fastmcp==4.1.2",
};

function python(
  language: keyof typeof PYTHON,
  mode: string,
  script: string,
): () => Promise<Command> {
  return async () => [
    await pythonWith(PYTHON[language]),
    pythonScript(script),
    language,
    mode,
  ];
}

function go(mode: string): () => Promise<Command> {
  return async () => [await goProgram(), mode];
}

const hasPython = await has("python3", "--version");
const hasGo = await has("go", "version");

const CLIENTS: Client[] = [
  ...hasPython
    ? [
      {
        name: `Python ${PYTHON.mcp1}`,
        command: python("mcp1", "legacy", "facts.py"),
        revision: "2025-11-25",
      },
      {
        name: `Python ${PYTHON.mcp2} (legacy)`,
        command: python("mcp2", "legacy", "facts.py"),
        revision: "2025-11-25",
      },
      {
        name: `Python ${PYTHON.mcp2} (auto)`,
        command: python("mcp2", "auto", "facts.py"),
        revision: "2026-07-28",
      },
      {
        name: `Python ${PYTHON.fastmcp}`,
        command: python("fastmcp", "auto", "facts.py"),
        revision: "2026-07-28",
      },
    ]
    : [],
  ...hasGo
    ? ["2024-11-05", "2025-03-26", "2025-11-25", "2026-07-28"].map(
      (revision) => ({
        name: `Go (${revision})`,
        command: go(revision),
        revision,
      }),
    )
    : [],
];

/** Runs `use` with the address of two processes on one file, taken in turns. */
async function withTwoInTurns(
  use: (url: string) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    const options = { entry: ENTRY, kvPath: `${directory}/kv.db` };
    await using first = await startServerProcess(options);
    await using second = await startServerProcess(options);
    await using proxy = startProxy([first.url, second.url]);
    await use(proxy.url);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

for (const { name, command, revision } of CLIENTS) {
  Deno.test(`${name} lists, calls, reads, asks, follows and cancels`, async () => {
    const client = await command();
    await using server = await startServerProcess({ entry: ENTRY });
    const found = await factsOf([...client, `${server.url}/mcp`]);
    assert.deepEqual(found, expectedOf(revision));
  });

  Deno.test({
    name: `${name} finds the same at two processes in turns`,
    // An interrupted fetch of the proxy ends in its own time.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const client = await command();
      await withTwoInTurns(async (url) => {
        const found = await factsOf([...client, `${url}/mcp`]);
        assert.deepEqual(found, expectedOf(revision));
      });
    },
  });
}

/**
 * Signs in as Ada Lovelace and approves the request. SDKs ask for every scope,
 * so the first time only one of them is approved.
 */
function visitor({ url }: ServerProcess) {
  const browser = new Browser(({ origin }) =>
    origin === url ? fetch : undefined
  );
  let isFirst = true;
  return async (address: string) => {
    const asked = new URL(address);
    if (isFirst) asked.searchParams.set("scope", "notes:read");
    isFirst = false;
    const consent = await browser.open(asked);
    const next = await browser.press(consent, "decision", "approve");
    const arrival = next.status === 0
      ? next
      : await browser.press(next, "name", "Ada Lovelace");
    assert.equal(arrival.status, 0, arrival.text);
    return arrival.url;
  };
}

const SIGN_INS: Client[] = [
  ...hasPython
    ? [
      {
        name: `Python ${PYTHON.mcp1}`,
        command: python("mcp1", "legacy", "sign_in.py"),
      },
      {
        name: `Python ${PYTHON.mcp2} (legacy)`,
        command: python("mcp2", "legacy", "sign_in.py"),
      },
      {
        name: `Python ${PYTHON.mcp2} (auto)`,
        command: python("mcp2", "auto", "sign_in.py"),
      },
      {
        name: `Python ${PYTHON.fastmcp}`,
        command: python("fastmcp", "auto", "sign_in.py"),
      },
    ]
    : [],
  ...hasGo ? [{ name: "Go", command: go("sign-in") }] : [],
];

for (const { name, command } of SIGN_INS) {
  Deno.test(`${name} signs a person in, and steps up when a tool needs more`, async () => {
    const client = await command();
    await using server = await startServerProcess({
      entry: ENTRY,
      env: { AUTH_STRATEGY: "oauth", OAUTH_PROVIDER: "dev" },
    });
    const found = await factsOf(
      [...client, `${server.url}/mcp`],
      visitor(server),
    );
    assert.match(`${found.open}`, /ada/i);
    assert.equal(found.guarded, found.open);
    assert.equal(found.visits, 2);
  });
}
