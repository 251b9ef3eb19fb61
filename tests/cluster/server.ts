/** One process of a cluster. @module */
import { serve } from "../kit/serve.ts";
import { catalogue, measure } from "./catalogue.ts";

measure(await serve(catalogue));
