/** The `atropos` command: reads the words, runs the verb, reports what went wrong in a line, exits 0, 1, 2 or 130. */
// The modules of `effect` are imported one by one here and in what this file reaches: `--help` must not load all of it.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Presentation from "./Presentation.ts"
import * as Report from "./Report.ts"
import * as Root from "./Root.ts"

Root.run(process.argv.slice(2)).pipe(
  Effect.provide([Presentation.layer, NodeServices.layer]),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: Report.teardown })
)
