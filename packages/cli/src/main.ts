/** The `atropos` command: reads the words, runs the verb, reports what went wrong in a line, exits 0, 1, 2 or 130. */
// The modules of `effect` are imported one by one here and in what this file reaches: `--help` must not load all of it.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as EffectTerminal from "effect/Terminal"
import * as Presentation from "./help/Presentation.ts"
import * as Report from "./base/Report.ts"
import * as Root from "./Root.ts"
import * as Terminal from "./base/Terminal.ts"

// What libraries print past the command's own console can hold a model's words too.
const stdout = Terminal.guard(process.stdout)
const stderr = Terminal.guard(process.stderr)

Root.run(process.argv.slice(2)).pipe(
  Effect.updateService(EffectTerminal.Terminal, (terminal) => Terminal.drawingOn(terminal, stdout)),
  Effect.provide([Presentation.layer, NodeServices.layer]),
  Effect.provideService(Terminal.Stderr, stderr),
  Effect.provideService(Console.Console, Terminal.consoleOn(stdout, stderr)),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: Report.teardown })
)
