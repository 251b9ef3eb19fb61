/**
 * A server of an API that has an OpenAPI document: `deno task ts import
 * bookings.yaml --all` wrote `services/` and `tools/`, and nothing in them was edited.
 */
import { defineServer } from "@tool-server/tool-server";
import { tools } from "./tools/mod.ts";

export default defineServer({ name: "bookings", version: "1.0.0", tools });
