/**
 * A mock of an OpenAPI document that validates what it is sent, by Prism, and
 * the calls of imported tools that go to it.
 *
 * @module
 */
import { createRequire } from "node:module";
import type { Tool } from "../../src/mod.ts";
import type { ApiDocument } from "../../packages/import/document.ts";
import { detailsOf, listOperations } from "../../packages/import/operations.ts";
import { sampleInput } from "../../packages/import/test_code.ts";
import { BODY_NAME } from "../../packages/import/tool_code.ts";
import { testServer } from "../../packages/testing/mod.ts";
import { messageOf } from "../../src/core/thrown.ts";

/** The package that the mock is made of. */
export const MOCK_PACKAGE = "@stoplight/prism-http-server@5.12.2";

/** A call of a tool, and why the mock refused it. */
export interface Called {
  /** The tool, and how much of its input was given. */
  call: string;
  refusal?: string;
}

/** A mock that listens on this machine. `await using` ends it. */
export class ValidatingMock implements AsyncDisposable {
  /** Why it refused each request; undefined where it took one. */
  readonly asked: (string | undefined)[] = [];

  private constructor(
    /** The address at which it can be called. */
    readonly url: string,
    private readonly http: Deno.HttpServer,
  ) {}

  /** Starts a mock of the document in a file. */
  static async start(modules: string, path: string): Promise<ValidatingMock> {
    const load = createRequire(`${modules}/mock.js`);
    const { createServer } = load("@stoplight/prism-http-server");
    const { getHttpOperationsFromSpec } = load("@stoplight/prism-http");
    const operations = await getHttpOperationsFromSpec(path);
    const { prism } = createServer(operations, { config, components });
    const ask = async (input: unknown): Promise<unknown> =>
      await prism.request(input, operations, config)();
    const http: Deno.HttpServer<Deno.NetAddr> = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request): Promise<Response> => mock.#answer(request, ask),
    );
    const url = `http://127.0.0.1:${http.addr.port}`;
    const mock = new ValidatingMock(url, http);
    return mock;
  }

  /** Asks Prism about a request, and notes if it was taken. */
  async #answer(
    request: Request,
    ask: (input: unknown) => Promise<unknown>,
  ): Promise<Response> {
    const { pathname, search, searchParams } = new URL(request.url);
    const { method, headers } = request;
    const text = await request.text();
    const isJson = /[/+]json\b/.test(headers.get("content-type") ?? "");
    const query = Object.fromEntries(
      [...searchParams.keys()].map((name) => {
        const values = searchParams.getAll(name);
        return [name, values.length > 1 ? values : values[0]];
      }),
    );
    const words = await ask({
      method: method.toLowerCase(),
      url: { path: pathname, query },
      headers: Object.fromEntries(headers),
      body: text === "" ? undefined : isJson ? JSON.parse(text) : text,
    }).then(refusalIn, (error) => `Prism fails: ${messageOf(error)}`);
    this.asked.push(
      words && `${method} ${pathname}${search} ${text}: ${words}`,
    );
    return Response.json({ words });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.http.shutdown();
  }
}

/** Finds why Prism refused a request. */
function refusalIn(answer: unknown): string | undefined {
  const { left, right } = answer as {
    left?: { name: string };
    right?: { validations: { input: unknown[] } };
  };
  const faults = right?.validations.input ?? [];
  if (faults.length > 0) return JSON.stringify(faults);
  // A request was taken where the document has no answer to it.
  const isTaken = left === undefined || left.name.endsWith("RESPONSE_DEFINED");
  return isTaken ? undefined : JSON.stringify(left);
}

const config = {
  mock: { dynamic: false },
  validateRequest: true,
  validateResponse: false,
  checkSecurity: true,
  errors: false,
  isProxy: false,
};

const LEVELS = "trace debug info success warn error fatal".split(" ");

/** A logger that says nothing. */
const SILENT: Record<string, unknown> = {
  ...Object.fromEntries(LEVELS.map((level) => [level, () => {}])),
  child: () => SILENT,
};

const components = { logger: SILENT };

/** The addresses that a document's tools call, and the operations of it. */
export interface MockedApi {
  service: string;
  /** The address that the import was told. */
  api: string;
  document: ApiDocument;
}

/** Calls a tool with the least and with the most input that its document takes. */
export async function callTool(
  tool: Tool,
  id: string,
  { service, api, document }: MockedApi,
  mock: ValidatingMock,
): Promise<Called[]> {
  const operation = listOperations(document).operations
    .find((it) => it.id === id)!;
  const env = { [`${service.toUpperCase()}_URL`]: mock.url };
  await using server = await testServer({ tools: [tool], env });
  const [variable] = Object.keys({ ...tool.needs, ...tool.services });
  const details = detailsOf(
    document,
    operation,
    new Set([BODY_NAME, variable]),
  );
  const send = (request: Request) => {
    const url = request.url.replace(api, mock.url);
    const { headers } = request;
    // The key that people paste is a name and a password; the kit's is not.
    const isBasic = headers.get("authorization")?.startsWith("Basic ");
    if (isBasic) headers.set("authorization", `Basic ${btoa("ada:tea")}`);
    return fetch(new Request(url, request));
  };
  const options = {
    ...tool.needs && { needs: { [variable]: send } },
    ...tool.approval && { approval: "approve" as const },
  };
  const called: Called[] = [];
  for (const all of [false, true]) {
    const input = sampleInput(details, all);
    const before = mock.asked.length;
    const words = await server.as({ subject: "ada" }).call(tool, input, options)
      .then(({ text }) => text, messageOf);
    const asked = mock.asked.slice(before);
    called.push({
      call: `${tool.name} ${all ? "all" : "least"}`,
      refusal: asked.length === 1
        ? asked[0]
        : `${asked.length} requests: ${words}`,
    });
  }
  return called;
}
