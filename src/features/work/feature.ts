/**
 * Work: calls that become tasks, and durable work that outlives its process.
 *
 * @module
 */
import type { Feature } from "../../core/server/feature.ts";
import { cancelTask, getTask, updateTask } from "./task_methods.ts";

export const workFeature: Feature = {
  name: "work",
  methods: {
    stateless: [
      ["tasks/get", getTask],
      ["tasks/update", updateTask],
      ["tasks/cancel", cancelTask],
    ],
  },
};
