/**
 * The official SDK in Python without a browser. The same for the TypeScript
 * SDKs is in `tests/flow/clients_test.ts`.
 */
import assert from "node:assert/strict";
import { JWT_BEARER_GRANT_TYPE } from "../../src/core/oauth/client.ts";
import { startAssertionProvider } from "../kit/assertion_provider.ts";
import { formOf } from "../kit/account_visitor.ts";
import { Browser } from "../kit/browser.ts";
import { factsOf, type Visit } from "./language_client.ts";
import { has, pythonScript, pythonWith } from "./languages.ts";
import {
  type ServerProcess,
  startServerProcess,
} from "../kit/server_process.ts";

const SECRET = "a-secret-of-many-letters";
const CLIENTS = [
  {
    client_id: "machine",
    grant_types: ["client_credentials"],
    client_secret_env: "OAUTH_CLIENT_SECRET_INTEROP",
    scope: "notes:read notes:write",
  },
  {
    client_id: "assertion",
    grant_types: [JWT_BEARER_GRANT_TYPE],
    client_secret_env: "OAUTH_CLIENT_SECRET_INTEROP",
  },
];

/** Makes an access token on the account page, with every box ticked. */
async function personalToken({ url }: ServerProcess): Promise<string> {
  const browser = new Browser(({ origin }) =>
    origin === url ? fetch : undefined
  );
  const signIn = await browser.press(
    formOf(await browser.open(`${url}/account/tokens`), "/account/sign-in"),
    "",
    "",
  );
  const signedIn = await browser.press(signIn, "name", "Ada Lovelace");
  const again = formOf(signedIn, "/account/sign-in");
  const account = await browser.press(
    await browser.press(again, "", ""),
    "name",
    "Ada Lovelace",
  );
  const made = await browser.press(
    formOf(account, "/account/tokens"),
    "name",
    "Backup",
    { days: "7" },
  );
  return /tsp_\w{58}/.exec(made.text)![0];
}

const hasPython = await has("python3", "--version");

for (const mode of ["legacy", "auto"]) {
  for (
    const [way, words] of [
      ["machine", /^client:machine/],
      ["assertion", /^http:\/\/127\.0\.0\.1:\d+#ada/],
      ["token", /ada/i],
    ] as const
  ) {
    Deno.test({
      name: `Python calls by ${way} without a page (${mode})`,
      ignore: !hasPython,
      async fn() {
        await using idp = await startAssertionProvider();
        await using server = await startServerProcess({
          entry: "tests/interop/clients_server.ts",
          env: {
            AUTH_STRATEGY: "oauth",
            OAUTH_PROVIDER: "dev",
            OAUTH_CLIENTS: JSON.stringify(CLIENTS),
            OAUTH_CLIENT_SECRET_INTEROP: SECRET,
            OAUTH_ASSERTION_ISSUERS: idp.issuer,
          },
        });
        const assertion: Visit = (audience) =>
          idp.assertion(audience, { client_id: "assertion" });
        const found = await factsOf([
          await pythonWith("mcp==2.3.0"),
          pythonScript("without_a_page.py"),
          way,
          mode,
          `${server.url}/mcp`,
          way === "token" ? await personalToken(server) : SECRET,
        ], assertion);
        assert.match(`${found.open}`, words);
        assert.equal(found.guarded, found.open);
      },
    });
  }
}
