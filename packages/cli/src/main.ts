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

/** Ends the process once its output is written, regardless of timers or an exit code that an agent left behind. */
const end = (code: number): void => {
  process.exitCode = code
  const unwritten = [process.stdout, process.stderr].filter(
    ({ writable, writableLength }) => writable && writableLength > 0
  )
  void Promise.all(unwritten.map((stream) => new Promise((resolve) => stream.write("", resolve)))).then(() =>
    process.exit(code)
  )
}

Program.run(process.argv.slice(2), process, ending).pipe(
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit) => Report.teardown(exit, end, ending)
  })
)
