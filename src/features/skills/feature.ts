/**
 * Skills: instructions that clients read, as SEP-2640 lists them.
 *
 * @module
 */
import type { Feature } from "../../core/server/feature.ts";
import {
  catalogueSkills,
  getSkill,
  listSkills,
  readDirectory,
} from "./skills.ts";

export const skillsFeature: Feature = {
  name: "skills",
  catalogue: catalogueSkills,
  methods: {
    shared: [
      ["skills/list", listSkills],
      ["skills/get", getSkill],
      ["resources/directory/read", readDirectory],
    ],
  },
};
