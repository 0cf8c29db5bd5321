/**
 * Two environments in one program, with weights: one line each.
 *
 * They share the inference servers two to one and feed one run of an embedded trajectory service, from which a consumer
 * takes three batches. Run it: `npx node --conditions=atropos-src examples/02-two-environments.ts`.
 */
import { NodeServices } from "@effect/platform-node"
import { Database, PgTrajectoryStore, TrajectoryClientInProcess } from "@atropos/api"
import { Environment, Rollout, ServerManager, TrainerClient } from "@atropos/core"
import { ArithmeticStories } from "@atropos/envs"
import { Console, Effect, Layer, Option } from "effect"
import * as Letters from "./01-letters.ts"

const common = { groupSize: 4, totalSteps: 3, maxNumWorkers: 4, tokenizerName: "bytes" }

const environments = Environment.merge(
  ArithmeticStories.layer({ ...common, inferenceWeight: 2 }),
  Letters.layer({ ...common, inferenceWeight: 1 })
)

const service = TrajectoryClientInProcess.layer().pipe(
  Layer.provide(PgTrajectoryStore.layer),
  Layer.provide(Database.layerPglite())
)
const answers = ["cat", "\\boxed{7}", "I do not know", "shore", "\\boxed{12}"]

/** Consumes three batches of 16 sequences of a run, like a trainer. */
const consume = Effect.gen(function* () {
  const client = yield* TrainerClient.TrainerClient
  for (let step = 0; step < 3; step++) {
    const batch = yield* client.claim({ owner: "example", wait: "30 seconds", lease: "1 minute" })
    if (Option.isNone(batch)) return yield* Console.log("no batch in 30 seconds")
    const sizes = batch.value.groups.map(({ envId, tokens }) => `${tokens.length} of environment ${envId}`)
    yield* Console.log(
      `step ${batch.value.step}: ${sizes.length} groups (${Array.from(new Set(sizes)).toSorted().join(", ")})`
    )
    yield* client.ack(batch.value)
  }
})

export const program = Effect.gen(function* () {
  const client = yield* TrainerClient.TrainerClient
  yield* client.registerRun({
    name: "default",
    batchSize: 16,
    maxTokenLength: 2048,
    startingStep: 0,
    numSteps: 3,
    checkpointDir: "",
    saveCheckpointInterval: 0,
    wandbGroup: "",
    wandbProject: ""
  })
  yield* consume.pipe(Effect.provide(Rollout.layer()))
}).pipe(
  Effect.provide(
    environments.pipe(
      Layer.provideMerge(Layer.mergeAll(ServerManager.layerScripted(answers), service, NodeServices.layer))
    )
  )
)

if (import.meta.main) await Effect.runPromise(program)
