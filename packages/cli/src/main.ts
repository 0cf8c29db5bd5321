/**
 * The `atropos` executable: parses the arguments, runs the command, reports errors in one line, exits with 0, 1, 2, 3
 * or 130.
 */
// Modules of `effect` are imported individually here and in everything this file reaches: `--help` must not load them
// all.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Program from "./Program.ts"
import * as Report from "./base/Report.ts"

const ending: Report.Ending = { isDone: false }

Program.run(process.argv.slice(2), process, ending).pipe(
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit, onExit) => Report.teardown(exit, onExit, ending)
  })
)
