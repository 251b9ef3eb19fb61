/** Standard output that no one takes, and what tools leave behind. */
import assert from "node:assert/strict";
import { statusOf } from "../kit/answer.ts";
import { until } from "../kit/wait.ts";
import { freePort } from "../kit/port.ts";
import {
  callHealth,
  openSession,
  post,
  Process,
  REPOSITORY,
  startArgs,
  startProcess,
} from "../kit/process.ts";
import { rpc } from "../kit/message.ts";

/** Enough lines of strangers to fill a pipe, which holds 64 KiB. */
const REQUESTS = 500;

async function refuseMany(url: string): Promise<void> {
  for (let n = 0; n < REQUESTS; n++) {
    assert.equal(
      await statusOf(fetch(`${url}/token`, { method: "POST" })),
      501,
    );
  }
}

async function assertServes(url: string): Promise<void> {
  for (const path of ["/health", "/ready"]) {
    assert.equal(await statusOf(fetch(url + path)), 200);
  }
  assert.equal(await callHealth(url, await openSession(url)), 200);
}

/** The text that a server prints, read only when asked for. */
class Output {
  #reader: ReadableStreamDefaultReader<string>;
  text = "";

  constructor(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  }

  async readUntil(isEnough: () => boolean): Promise<void> {
    while (!isEnough()) {
      const { done, value } = await this.#reader.read();
      if (done) break;
      this.text += value;
    }
  }
}

Deno.test("a reader of standard output that stalls holds nothing up, and gets every line later", async () => {
  const args = await startArgs();
  await using child = new Deno.Command(Deno.execPath(), {
    args,
    cwd: REPOSITORY,
    env: { PORT: "0", KV_PATH: ":memory:" },
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const output = new Output(child.stdout);
  const address = /(http:\/\/[\w.]+:\d+)\/mcp/;
  await output.readUntil(() => address.test(output.text));
  const url = address.exec(output.text)![1];
  await refuseMany(url);
  await assertServes(url);
  const told = () => output.text.match(/"method":"POST \/token"/g)?.length;
  await output.readUntil(() => told() === REQUESTS);

  await refuseMany(url);
  child.kill("SIGTERM");
  assert.equal((await child.status).code, 0);
  await output.readUntil(() => false);
});

for (
  const [what, script] of [
    ["a full disk", 'exec "$0" "$@" > /dev/full'],
    ["a pipe that was closed", '"$0" "$@" | true'],
    ["no file at all", 'exec "$0" "$@" >&-'],
  ]
) {
  Deno.test(`a server with ${what} behind its standard output starts, serves and stops`, async () => {
    const url = `http://127.0.0.1:${freePort()}`;
    await using server = new Process(
      ["-c", script, Deno.execPath(), ...await startArgs()],
      { command: "sh", env: { PORT: new URL(url).port, KV_PATH: ":memory:" } },
    );
    await until(() =>
      fetch(`${url}/health`).then(
        (response) => response.body!.cancel().then(() => true),
        () => false,
      )
    );
    await refuseMany(url);
    await assertServes(url);
    server.kill("SIGTERM");
    await server.end();
    assert.equal(server.output, "");
  });
}

Deno.test("what a tool leaves behind is told with its reason, whatever it is, and ends nothing", async () => {
  await using server = await startProcess({
    entry: "tests/process/stray_server.ts",
  });
  const url = await server.url();
  const session = await openSession(url);
  for (const kind of ["rejection", "exception", "thrown"]) {
    const call = rpc("tools/call", { name: "leave", arguments: { kind } });
    assert.equal(await statusOf(post(url, call, session)), 200);
  }
  await server.prints(
    /Unhandled rejection.*left \(hidden\).*the reason of a rejection/,
  );
  await server.prints(
    /Unhandled exception.*the reason of an exception: \(hidden\)/,
  );
  await server.prints(/Internal error.*the reason that was thrown/);
  assert.equal(await statusOf(fetch(`${url}/health`)), 200);
  server.kill("SIGTERM");
  assert.equal(await server.end(), 0);
});
