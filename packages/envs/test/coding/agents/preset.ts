/** A preset of a user's own. */
import { fileURLToPath } from "node:url"
import type { CodingAgent } from "../../../src/coding/CodingAgent.ts"

/** `settings`: the name of its tool, and what its requests have besides. */
export const make = (settings: object): CodingAgent => ({
  name: "coder",
  program: fileURLToPath(new URL("coder.mjs", import.meta.url)),
  install: "it is there",
  minVersion: "1.2.0",
  triedVersion: "1.2.3",
  args: (task) => [task],
  files: () => ({ ".coder/settings.json": JSON.stringify({ tool: "run", ...settings }) }),
  shell: { tool: "run", args: (command) => ({ command }) }
})

export default make({})
