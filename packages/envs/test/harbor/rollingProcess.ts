/** A process that rolls one group out: its arguments are the settings and the model's command. */
import { Effect } from "effect"
import * as Rolling from "./Rolling.ts"

const [settings = "{}", command = ""] = process.argv.slice(2)
await Effect.runPromise(
  Rolling.rolledOut(JSON.parse(settings), Rolling.commands(command)).pipe(Effect.provide(Rolling.platform))
)
