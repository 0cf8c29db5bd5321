/** The `atropos` command: reads the words, runs the verb, reports what went wrong in a line, exits 0, 1, 2 or 130. */
// The modules of `effect` are imported one by one here and in what this file reaches: `--help` must not load all of it.
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
