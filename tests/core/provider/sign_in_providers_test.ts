/** Several sign-in providers, each of which may be hostile to the others. */
import assert from "node:assert/strict";
import type { Provider } from "../../../src/core/provider/provider.ts";
import { signInProviders } from "../../../src/core/provider/sign_in_providers.ts";
import { FakeProvider } from "../../kit/fake_provider.ts";
import { silentLogger } from "../../kit/log.ts";
import { assertRefused } from "./refusal.ts";
import { SIGN_IN } from "./fake_openid.ts";

const config = { provider: "dev" } as const;

Deno.test("the code of one provider is sent to no other where its answer names it, though the other names no issuer", async () => {
  const fakes = new Map<string, FakeProvider>();
  const { find } = signInProviders({
    listed: [
      { id: "github", key: "github", config, domains: [] },
      { id: "https://evil.example", key: "evil", config, domains: [] },
    ],
    baseUrl: "https://tools.example.com",
    make({ id }): Provider {
      const issuer = id === "github" ? `https://${id}.example` : undefined;
      const fake = Object.assign(new FakeProvider(), { issuer });
      fakes.set(id, fake);
      return fake;
    },
    log: silentLogger,
  });
  await assertRefused(
    find("evil")!.provider.redeem({
      ...SIGN_IN,
      issuer: "https://github.example",
    }),
    "misbehaved",
    /another one/,
  );
  assert.deepEqual(fakes.get("https://evil.example")!.log, []);
  // An issuer that is no one's here is for the provider to judge.
  for (const [key, issuer] of [["evil", "x"], ["github", undefined]] as const) {
    const asked = find(key)!.provider.redeem({ ...SIGN_IN, issuer });
    await assertRefused(asked, "dead", /No such code/);
  }
});
