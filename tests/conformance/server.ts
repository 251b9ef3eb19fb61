/**
 * The server that the conformance suite is run against: this application with
 * the suite's fixtures.
 *
 * @module
 */
import { serve } from "../kit/serve.ts";
import { catalogue } from "./catalogue.ts";

await serve(catalogue);
