/**
 * Our environment loop over HTTP with instant inference: groups of 8 x 64 tokens. Arguments: the service's URL, the
 * number of workers. Runs until it is killed.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Environment, Message, Rollout, ServerManager, Trajectory, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Layer, Stream } from "effect"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const tokens = Int32Array.from({ length: 64 }, (_, t) => t + 1)
const trajectory: Trajectory.Trajectory = {
  messages: [Message.user("go"), Message.assistant("gone")],
  completion: "gone",
  finishReason: "stop",
  tokens,
  mask: Trajectory.maskFrom(32, tokens.length),
  logprobs: Float32Array.from(tokens, (_, t) => (t < 32 ? Trajectory.notSampled : -0.5))
}

const layer = Environment.layer("instant", Environment.settings({}), ({ groupSize }) =>
  Effect.succeed({
    items: (cursor: number) => Stream.range(cursor, Number.MAX_SAFE_INTEGER),
    collectTrajectories: () => Effect.succeed(Array.from({ length: groupSize }, () => trajectory)),
    score: (_: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
      Effect.succeed(group.map((_, index) => (index % 2 === 0 ? 1 : -1)))
  })
)

const workers = Number(process.argv[3])
const settings = {
  groupSize: 8,
  maxNumWorkers: workers,
  maxBatchesOffpolicy: 100,
  stepsPerEval: 0,
  totalSteps: 1_000_000
}
const program = Effect.gen(function* () {
  yield* Rollout.run(yield* Environment.Environment, { spoolDirectory: mkdtempSync(join(tmpdir(), "atropos-bench-")) })
}).pipe(
  Effect.provide(layer(settings).pipe(Layer.provideMerge(ServerManager.layerScripted([])))),
  Effect.provide([TrajectoryClientHttp.layer({ url: process.argv[2]! }), NodeServices.layer])
)

await Effect.runPromise(program)
