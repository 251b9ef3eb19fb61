/** One process of a cluster. @module */
import { serve } from "../serve.ts";
import { catalogue } from "./catalogue.ts";

await serve(catalogue);
