/**
 * Calls tools in a process without any permission.
 *
 * @module
 */
import { eachRevision, testServer } from "../mod.ts";
import { build, greet, searchMail, tools } from "./tools.ts";

await eachRevision(async (revision) => {
  await using server = await testServer({ tools, revision });
  console.log((await server.call(greet)).text);
  const upstream = { "/inbox": { subjects: [] } };
  const { text } = await server.call(searchMail, { query: "" }, { upstream });
  console.log(text);
  if (revision === "2025-11-25") return;
  const built = await server.call(build, { n: 1 }, { answers: ["accept"] });
  console.log(built.text);
});
