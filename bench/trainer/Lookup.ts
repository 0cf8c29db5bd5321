/**
 * Benefit of speculative decoding by prompt lookup (`speculativeTokens`): tokens per second of processor time, with and
 * without it, alternating.
 *
 *     node --conditions=atropos-src bench/trainer/Lookup.ts
 *
 * The model has random weights and 4 million parameters. Greedy decoding with a penalty below 1 repeats itself: answers
 * that copy. At temperature 1 its answers are unpredictable: the worst case.
 */
import * as Engine from "@atropos/trainer/engine/Engine"
import * as Model from "@atropos/trainer/model/Model"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import { Effect } from "effect"
import * as DecodeGraph from "../../packages/trainer/src/engine/DecodeGraph.ts"

const characters = String.fromCodePoint(...Array.from({ length: 127 }, (_, i) => i + 1))
const model = TinyModel.make({ characters, seed: 1, hiddenSize: 384, layers: 4, maxPositions: 1024 })
const maxTokens = 100
const turns = 2

const engineOf = (speculativeTokens: number) =>
  Engine.make({
    model: DecodeGraph.make(Model.decodable(model)),
    initial: { policy: "policy", policyVersion: 0, parameters: model.initial },
    device: "cpu",
    settings: { speculativeTokens }
  })

const sampled = Effect.fnUntraced(function* (engine: Engine.Shape, rows: number, temperature: number) {
  const before = yield* engine.status
  const start = process.cpuUsage()
  yield* engine.generate({
    promptTokens: Array.from({ length: 64 }, (_, i) => 1 + ((i * i) % 120)),
    n: rows,
    maxTokens,
    temperature,
    topP: 1,
    topK: 0,
    stopTokenIds: [],
    // Rewards repetition.
    ...(temperature === 0 && { repetitionPenalty: 0.7 }),
    seed: 1
  })
  const { system, user } = process.cpuUsage(start)
  const after = yield* engine.status
  const accepted = after.acceptedGuesses - before.acceptedGuesses
  return { rate: (rows * maxTokens) / ((system + user) / 1e6), accepted: accepted / (rows * maxTokens) }
})

const program = Effect.gen(function* () {
  const engines = yield* Effect.forEach([0, 2, 4], (count) =>
    Effect.map(engineOf(count), (engine) => ({ count, engine }))
  )
  for (const temperature of [0, 1]) {
    for (const rows of [1, 8]) {
      const best = new Map<number, { readonly rate: number; readonly accepted: number }>()
      for (let turn = 0; turn < turns; turn++) {
        for (const { count, engine } of engines) {
          const now = yield* sampled(engine, rows, temperature)
          if (now.rate > (best.get(count)?.rate ?? 0)) best.set(count, now)
        }
      }
      const plain = best.get(0)!.rate
      for (const [count, { accepted, rate }] of best) {
        console.log(
          `temperature ${temperature}, ${rows} at once, ${count} guessed: ${rate.toFixed(0)} tokens a processor second ` +
            `(${(rate / plain).toFixed(2)}), ${(100 * accepted).toFixed(0)}% guessed rightly`
        )
      }
    }
  }
}).pipe(Effect.scoped)

await Effect.runPromise(program)
