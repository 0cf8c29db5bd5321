/** Each architecture held to transformers and PEFT: forward, backward, and decoding with a cache. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import type { DeviceKind } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as Model from "../../src/model/Model.ts"
import * as Architectures from "./Architectures.ts"
import * as Fixtures from "./Fixtures.ts"

const servicesOn = (kind: DeviceKind) =>
  Layer.mergeAll(Ort.layer({ device: { kind, detail: kind }, threads: 1 }), NodeServices.layer)

const ways = [
  { attention: "rows", remat: "elements" },
  { attention: "blocks", remat: "parts" }
] as const

export const suite = (names: ReadonlyArray<string>, device: DeviceKind = "cpu"): void =>
  layer(servicesOn(device), { excludeTestServices: true })(
    `an architecture that transformers saved, on ${device}`,
    (it) => {
      it.effect.each(names)("has transformers' logits and PEFT's gradients: %s", (name) =>
        Effect.gen(function* () {
          const loaded = yield* Architectures.load(Architectures.folder(name))
          const { expected } = loaded
          for (const way of ways) {
            const { gradient, logits } = yield* Architectures.forwardAndBackward(loaded, way)
            expected.inputIds.forEach((row, i) => {
              assert.isBelow(Fixtures.maxDifference(logits[i]!, Fixtures.floats(expected.logits[i]!)), 1e-4)
              const ours = Architectures.logprobs(logits[i]!, row, expected.vocabSize)
              assert.isBelow(Fixtures.maxDifference(ours, Fixtures.floats(expected.logprobs[i]!)), 1e-4)
            })
            assert.deepStrictEqual(Object.keys(gradient).toSorted(), Object.keys(expected.gradient).toSorted())
            for (const [parameter, found] of Object.entries(gradient)) {
              const theirs = Fixtures.floats(expected.gradient[parameter]!)
              const size = Math.max(...theirs.map(Math.abs))
              assert.isAbove(size, 0)
              assert.isBelow(Fixtures.maxDifference(found, theirs) / size, 1e-3, `${way.attention} ${parameter}`)
            }
          }
        }).pipe(Effect.scoped)
      )

      it.effect.each(names)("generates from a cache what transformers does: %s", (name) =>
        Effect.gen(function* () {
          const { expected, model, parameters } = yield* Architectures.load(Architectures.folder(name))
          const { greedy } = expected
          const engine = yield* Engine.make({
            model: DecodeGraph.make(Model.decodable(model)),
            initial: { policy: "adapter", policyVersion: 0, parameters },
            device
          })
          const asked = { n: 1, temperature: 0, topP: 1, topK: 0, stopTokenIds: [] }
          const answers = yield* Effect.forEach(
            expected.prompts,
            (promptTokens, i) => engine.generate({ ...asked, maxTokens: greedy!.tokens[i]!.length, promptTokens }),
            { concurrency: "unbounded" }
          )
          for (const [i, [choice]] of answers.entries()) {
            assert.deepStrictEqual([...choice!.tokens], greedy!.tokens[i])
            const theirs = Fixtures.floats(greedy!.logprobs[i]!)
            for (const [t, logprob] of choice!.logprobs.entries()) assert.closeTo(logprob, theirs[t]!, 1e-4)
          }
        }).pipe(Effect.scoped)
      )
    }
  )
