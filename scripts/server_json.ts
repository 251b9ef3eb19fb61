/**
 * `deno task server-json URL`: prints the registry's `server.json` for a
 * running server, made from its card. Exits 1 if the registry would refuse it.
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";
import {
  registryComplaints,
  registryEntry,
} from "../src/features/discovery/registry_entry.ts";

if (import.meta.main) {
  answerHelp();
  const url = URL.parse(Deno.args[0] ?? "");
  if (!url || !/^https?:$/.test(url.protocol)) {
    console.error("Try: deno task server-json https://tools.example.com");
    Deno.exit(2);
  }
  const path = url.pathname.replace(/\/(mcp\/?)?$/, "");
  const address = `${url.origin}${path}/mcp/server-card`;
  const response = await fetch(address, {
    headers: { accept: "application/mcp-server-card+json" },
  });
  if (!response.ok) {
    console.error(`${address} answers ${response.status}`);
    Deno.exit(1);
  }
  const entry = registryEntry(await response.json());
  const complaints = registryComplaints(entry);
  console.log(JSON.stringify(entry, undefined, 2));
  for (const complaint of complaints) console.error(complaint);
  Deno.exit(complaints.length === 0 ? 0 : 1);
}
