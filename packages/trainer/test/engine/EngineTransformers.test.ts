/**
 * Greedy generation against transformers and PEFT: tokens and logprobs of `scripts/make-model-fixtures.py`, for each
 * architecture without and with an adapter.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema } from "effect"
import { fileURLToPath } from "node:url"
import * as Decoder from "../../src/model/Decoder.ts"
import * as Lora from "../../src/model/Lora.ts"
import * as ModelFolder from "../../src/model/ModelFolder.ts"
import * as Peft from "../../src/model/Peft.ts"
import * as Weights from "../../src/model/Weights.ts"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import type { DecodableModel } from "../../src/model/DecodableModel.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { devices, devicesNote } from "../exec/TestGraphs.ts"

const root = fileURLToPath(new URL("../fixtures/models", import.meta.url))

const Greedy = Schema.Struct({
  tokens: Schema.Array(Schema.Array(Schema.Int)),
  /** Base64 of float32. */
  logprobs: Schema.Array(Schema.Uint8ArrayFromBase64)
})
const decodeFixture = Schema.decodeEffect(
  Schema.fromJsonString(
    Schema.Struct({ prompts: Schema.Array(Schema.Array(Schema.Int)), greedy: Greedy, adapterGreedy: Greedy })
  )
)
const decodeAdapter = Schema.decodeEffect(
  Schema.fromJsonString(
    Schema.Struct({
      r: Schema.Int,
      lora_alpha: Schema.Finite,
      use_rslora: Schema.Boolean,
      target_modules: Schema.Array(Schema.String)
    })
  )
)

const read = Effect.fnUntraced(function* (name: string) {
  const fs = yield* FileSystem.FileSystem
  const folder = `${root}/${name}`
  const fixture = yield* Effect.flatMap(fs.readFileString(`${folder}.json`), decodeFixture)
  const file = yield* Effect.flatMap(fs.readFileString(`${folder}/adapter/adapter_config.json`), decodeAdapter)
  const config = yield* ModelFolder.readConfig(folder)
  const weights = ModelFolder.weights(config, yield* ModelFolder.readEntries(folder, config))
  const { lora_alpha: alpha, r, target_modules: targetModules, use_rslora: rslora } = file
  const adapter = { r, alpha, rslora, targetModules }
  const layout = Lora.layout(config, adapter)
  const parameters = yield* Peft.read(`${folder}/adapter`, { adapter, layout })
  const model: DecodableModel = {
    config,
    layout,
    build: (graph, trainable, inputs) =>
      Decoder.build(
        graph,
        config,
        {
          tensor: (name) => Weights.constant(graph, name, weights.get(name)!),
          lowRank: (module) => {
            const [a, b] = [trainable(Lora.nameOf(module, "A")), trainable(Lora.nameOf(module, "B"))]
            return a === undefined || b === undefined ? undefined : { a, b, scale: Lora.scaleOf(adapter) }
          }
        },
        inputs
      )
  }
  return { model: DecodeGraph.make(model), fixture, untrained: Lora.initial(layout, 1), parameters }
})

const floats = (bytes: Uint8Array) => new Float32Array(bytes.slice().buffer)

const cases = ["llama", "qwen2", "qwen3", "smollm"].flatMap((name) => devices.map((device) => ({ device, name })))

describe(`Engine, beside transformers, ${devicesNote}`, () => {
  for (const { device, name } of cases) {
    it.live(`generates what ${name} does, token for token, and with its adapter after a swap, on ${device}`, () =>
      Effect.gen(function* () {
        const { fixture, model, parameters, untrained } = yield* read(name)
        const initial = { policy: "base", policyVersion: 0, parameters: untrained }
        const engine = yield* Engine.make({ model, initial, device })
        const compare = Effect.fnUntraced(function* ({ logprobs, tokens }: typeof Greedy.Type) {
          const asked = { n: 1, maxTokens: 64, temperature: 0, topP: 1, topK: 0, stopTokenIds: [] }
          const answers = yield* Effect.forEach(
            fixture.prompts,
            (promptTokens) => engine.generate({ ...asked, promptTokens }),
            { concurrency: "unbounded" }
          )
          for (const [i, [choice]] of answers.entries()) {
            assert.deepStrictEqual([...choice!.tokens], tokens[i])
            const expected = floats(logprobs[i]!)
            for (const [t, logprob] of choice!.logprobs.entries()) assert.closeTo(logprob, expected[t]!, 1e-4)
          }
        })
        yield* compare(fixture.greedy)
        yield* engine.load("adapter", 1, parameters)
        yield* compare(fixture.adapterGreedy)
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
    )
  }
})
