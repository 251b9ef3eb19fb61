/**
 * The settings of discovery.
 *
 * @module
 */
import { settingsOf } from "../../core/settings/setting.ts";
import { BOOLEAN_SHAPE, textMatching } from "../../core/settings/shapes.ts";

export const DISCOVERY = settingsOf({
  SERVER_CARD: {
    words: "Tells directories of this server by a card.",
    shape: BOOLEAN_SHAPE,
    default: true,
  },
  OPENAI_APPS_CHALLENGE: {
    words: "The token that proves your domain to OpenAI's directory.",
    shape: textMatching(
      "the token that OpenAI gave for this domain, without spaces",
      /^[\x21-\x7E]{1,512}$/,
    ),
    fix: "Copy it from the app's page there",
  },
});
