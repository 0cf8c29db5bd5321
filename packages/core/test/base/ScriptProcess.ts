/** Runs a script of the tests in a separate process to its end; it is killed with the fiber that runs it. */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly lines: ReadonlyArray<string>
}

export const run = (script: URL, args: ReadonlyArray<string | number>): Effect.Effect<Ended> =>
  Effect.callback<Ended>((resume) => {
    const child = spawn(process.execPath, ["--conditions=atropos-src", fileURLToPath(script), ...args.map(String)], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    const lines: Array<string> = []
    createInterface(child.stdout).on("line", (line) => lines.push(line))
    child.once("close", (code, signal) => resume(Effect.succeed({ code, signal, lines })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })
