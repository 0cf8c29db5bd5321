import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as Model from "../../src/model/Model.ts"
import { adapted, course, live, loaded, near, objectives, remote, shape } from "../tinker/RemoteEngine.ts"
import * as SameBatch from "../tinker/SameBatch.ts"
import { serve } from "../tinker/server/TestTinkerServer.ts"

const steps = 20

describe("a Tinker server as the engine", () => {
  it.live("learns the same numbers as this machine, with every preset and an objective of one's own", () =>
    live(
      Effect.gen(function* () {
        const { url } = yield* serve()
        const there = yield* remote(url)
        const here = yield* LocalLearner.make({ model: Model.trainable(adapted) })
        for (const objective of objectives()) {
          const batch = SameBatch.batchOf(objective, shape)
          const [ours, theirs] = yield* Effect.forEach([here, there.learner], (engine) =>
            Effect.scoped(Effect.flatMap(loaded(engine, objective), (learner) => course(learner, batch, steps)))
          )
          near(theirs!.losses, ours!.losses, 1e-3, `${objective.name}: loss of step`)
          near(theirs!.norms, ours!.norms, 1e-3, `${objective.name}: norm of step`)
          for (const [item, row] of theirs!.logprobs.entries()) {
            near(row, ours!.logprobs[item]!, 1e-4, `${objective.name}: logprob of item ${item}`)
          }
          assert.notStrictEqual(theirs!.losses[0], theirs!.losses[steps - 1])
        }
      })
    )
  )
})
