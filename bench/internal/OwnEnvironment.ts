/** Our environment loop over HTTP with instant inference: groups of 8 x 64 tokens. Argument: the service's URL. Runs until it is ended. */
import { NodeServices } from "@effect/platform-node"
import { Environment, Message, Rollout, ServerManager, type Trajectory, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Layer, Stream } from "effect"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const layer = Environment.layer("instant", Environment.settings({}), ({ groupSize }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    return {
      items: (cursor: number) => Stream.range(cursor, Number.MAX_SAFE_INTEGER),
      collectTrajectories: () => servers.chat({ messages: [Message.user("go")], n: groupSize }),
      score: (_: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map((_, index) => (index % 2 === 0 ? 1 : -1)))
    }
  })
)

const settings = { groupSize: 8, maxNumWorkers: 64, maxBatchesOffpolicy: 100, stepsPerEval: 0, totalSteps: 1_000_000 }
const program = Effect.gen(function* () {
  yield* Rollout.run(yield* Environment.Environment, { spoolDirectory: mkdtempSync(join(tmpdir(), "atropos-bench-")) })
}).pipe(
  Effect.provide(layer(settings).pipe(Layer.provideMerge(ServerManager.layerScripted(["x".repeat(31)])))),
  Effect.provide([TrajectoryClientHttp.layer({ url: process.argv[2]! }), NodeServices.layer])
)

await Effect.runPromise(program)
