import assert from "node:assert/strict";
import { examine as examineAt } from "../examine.ts";
import { parseArguments } from "../mod.ts";
import { printFinding } from "../finding.ts";
import { serve } from "../../call/tests/kit.ts";
import { type Defects, fakeServer } from "./fake_server.ts";

/** Runs the doctor as a person does. */
async function runDoctor(
  ...args: string[]
): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-net", "packages/doctor/mod.ts", ...args],
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

async function examine(defects: Defects) {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => answer(new URL(request.url), request),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const answer = fakeServer(origin, defects);
  return await runDoctor(origin);
}

Deno.test("doctor exits 0 for a server that is well", async () => {
  const { code, text } = await examine({});
  assert.equal(code, 0, text);
  assert.match(text, /Nothing to fix\b/);
});

Deno.test("doctor exits 1 and says how to fix what is not", async () => {
  const { code, text } = await examine({
    serverMetadata: { code_challenge_methods_supported: [] },
  });
  assert.equal(code, 1, text);
  assert.match(text, /FAILED +PKCE .*\n +Fix: Add S256/);
  assert.match(text, /1 thing to fix\b/);
});

Deno.test("doctor ends with exit code 4 where no one can sign in, and with --no-browser waits", async () => {
  const settings = { AUTH_STRATEGY: "oauth", OAUTH_PROVIDER: "dev" };
  await using server = await serve({
    tools: [],
    privacyUrl: "https://example.com/privacy",
    supportUrl: "https://example.com/help",
  }, settings);
  const { code, text } = await runDoctor(server.origin, "--store", "claude");
  assert.match(
    text,
    /Not checked: .*no browser opens: give --token or --no-browser/,
  );
  assert.match(text, /Sign in here: http/);
  assert.equal(code, 4, text);
  const waiting = parseArguments([server.origin, "--no-browser"]);
  assert.equal(waiting.hasPerson, true);
});

Deno.test("doctor examines the server of HOST and PORT, or of BASE_URL", async () => {
  for (
    const [env, examined] of [
      [{ HOST: "0.0.0.0", PORT: "1" }, "http://127.0.0.1:1/"],
      [{ BASE_URL: "http://localhost:1", PORT: "2" }, "http://localhost:1/"],
    ] as const
  ) {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", "packages/doctor/mod.ts"],
      env,
    }).output();
    const [line] = new TextDecoder().decode(stdout).split("\n");
    assert.equal(line, `Examining ${examined}`);
  }
});

Deno.test("doctor uses TOOL_SERVER_TOKEN at the server of the environment alone", async () => {
  for (const isHere of [true, false]) {
    const shown = new Set<string | null>();
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      ({ headers }) => {
        shown.add(headers.get("authorization"));
        return new Response(null, { status: 401 });
      },
    );
    const url = `http://127.0.0.1:${server.addr.port}`;
    await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", "packages/doctor/mod.ts"]
        .concat("--store=claude", isHere ? [] : url),
      env: { BASE_URL: url, TOOL_SERVER_TOKEN: "ours" },
    }).output();
    assert.equal(shown.has("Bearer ours"), isHere);
  }
});

Deno.test("doctor adds http:// on this machine", async () => {
  const { text } = await runDoctor("localhost:1");
  assert.match(text, /Examining http:\/\/localhost:1\//);
});

Deno.test("doctor tells how it is called", async () => {
  for (const word of ["--help", "-h"]) {
    const { code, text } = await runDoctor(word);
    assert.equal(code, 0);
    assert.match(text, /^Usage: deno task ts doctor http/);
  }
});

Deno.test("doctor exits 2 for what it does not understand", async () => {
  for (
    const [args, said] of [
      [["ftp://tools.example.com"], /Not an http or https address: ftp:/],
      [["nonsense"], /Not an http or https address: nonsense/],
      [["--store", "claude,apple"], /^--store: got "apple", wants claude or/],
      [["--token"], /--token needs a value/],
      [["--token="], /--token needs a value/],
      [
        ["http://tools.example.com", "--token", "secret"],
        /A token is sent only over https/,
      ],
      [
        ["a.example", "b.example"],
        /Got "b\.example" besides a\.example, wants one address/,
      ],
      [["--loud"], /There is no --loud/],
    ] as const
  ) {
    const { code, text } = await runDoctor(...args);
    assert.equal(code, 2);
    assert.match(text, said);
  }
});

Deno.test("doctor warns of TLS where the settings next to it name no proxy", async () => {
  const origin = "https://tools.example.com";
  for (const TRUSTED_PROXIES of ["", "127.0.0.1"]) {
    Deno.env.set("BASE_URL", origin);
    Deno.env.set("TRUSTED_PROXIES", TRUSTED_PROXIES);
    const { namesNoProxy } = parseArguments([]);
    Deno.env.delete("BASE_URL");
    Deno.env.delete("TRUSTED_PROXIES");
    const all = await Array.fromAsync(
      examineAt(origin, { fetch: fakeServer(origin, {}), namesNoProxy }),
    );
    const warnings = all.filter(({ result }) => result === "warning");
    assert.deepEqual(
      warnings.map(({ fix }) => fix),
      TRUSTED_PROXIES ? [] : [
        "Set TRUSTED_PROXIES to its address; on Deno Deploy there is none.",
      ],
    );
  }
  const { namesNoProxy } = parseArguments([origin]);
  assert.equal(namesNoProxy, undefined);
});

Deno.test("examine() names a proxy that lets no long body through, or lets browsers go on over http", async () => {
  const origin = "https://tools.example.com";
  const complaints = async (defects: Defects, status?: number) => {
    const inner = fakeServer(origin, defects);
    const all = await Array.fromAsync(examineAt(origin, {
      fetch: (input, init) =>
        status && `${init?.body ?? ""}`.length > 1_000_000
          ? Promise.resolve(new Response("", { status }))
          : inner(input, init),
    }));
    return all.filter(({ result }) => result === "warning").map(printFinding);
  };
  assert.deepEqual(await complaints({}), []);
  assert.deepEqual(await complaints({}, 401), []);
  for (const status of [413, 502]) {
    const [long, ...others] = await complaints({}, status);
    assert.match(long, new RegExp(`Long bodies .*${status} to .*max_size 5MB`));
    assert.deepEqual(others, []);
  }
  const hsts = "strict-transport-security";
  for (
    const defects of [{ swallowed: [hsts] }, { added: { [hsts]: "max-age=0" } }]
  ) {
    const [strict, ...others] = await complaints(defects);
    assert.match(strict, /led to http\. Fix: .*Caddyfile: header/);
    assert.deepEqual(others, []);
  }
});
