/** Regenerates docs/commands.md: run it when a command, a flag or a description changes. */
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import * as CommandsPage from "./internal/CommandsPage.ts"

writeFileSync(new URL("../docs/commands.md", import.meta.url), await Effect.runPromise(CommandsPage.make))
