/**
 * Architectures that the local engine does not have, on PyTorch: small models with random weights, which transformers
 * writes, and its log-probabilities of the same tokens.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Layer, Result } from "effect"
import { afterAll, beforeAll } from "vitest"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import * as ModelConfig from "../../src/model/ModelConfig.ts"
import * as ModelSizes from "../../src/model/ModelSizes.ts"
import * as TorchEngine from "../../src/torch/TorchEngine.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import { course, near, objectives } from "../tinker/RemoteEngine.ts"
import * as SameBatch from "../tinker/SameBatch.ts"
import * as Torch from "../torch/Torch.ts"

/** As docs/models.md lists them. */
const kinds = [
  "mixtral",
  "qwen2_moe",
  "olmoe",
  "deepseek_v3",
  "gemma",
  "cohere2",
  "glm4",
  "gpt2",
  "gpt_neox",
  "opt",
  "phi",
  "starcoder2",
  "nemotron",
  "mamba2"
] as const

interface Made {
  readonly kind: string
  readonly path: string
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
}

const program = fileURLToPath(new URL("../torch/make_models.py", import.meta.url))
const shape = { vocabSize: 80, maxLength: 24, shortest: 8, count: 4 }
const sft = objectives(true).find(({ name }) => name === "sft")!
const process = Torch.processOf()
const child = Torch.sharedChild(process)
const packing = Torch.sharedChild(Torch.processOf({ variables: { ATROPOS_TORCH_PACKS: "1" } }))

describe.skipIf(!Torch.isPresent)(`architectures of PyTorch alone${Torch.absence}`, () => {
  let folder = ""
  let made: ReadonlyMap<string, Made> = new Map()
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "atropos-architectures-"))
    const lines = execFileSync(Torch.interpreter, [program, folder, ...kinds], { encoding: "utf8", stdio: "pipe" })
    made = new Map(
      lines
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Made)
        .map((one) => [one.kind, one])
    )
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  for (const kind of kinds) {
    it.live(`has transformers' log-probabilities of ${kind}, and learns`, () =>
      Effect.gen(function* () {
        const { logprobs, path, tokens } = made.get(kind)!
        const config = JSON.parse(readFileSync(join(path, "config.json"), "utf8")) as unknown
        assert.isTrue(Result.isFailure(ModelConfig.parse(config)), "the local engine has it")
        const { maxPositions: _, ...sizes } = yield* ModelSizes.read(path)
        assert.deepInclude(sizes, { vocabSize: 96, hiddenSize: 64, layers: 2 })
        const engine = yield* TorchEngine.make(
          { ...Torch.optionsOf(process), name: kind, model: path, vocabSize: 96, maxPositions: 128 },
          child
        )
        const learner = yield* engine.load({ objective: sft, maxLength: 32, remat: "parts" })
        const [row] = yield* learner.forward(WeightedBatch.ofTokens(tokens))
        near(row!, Float32Array.from(logprobs), 1e-4, "logprob")
        const { losses } = yield* course(learner, SameBatch.batchOf(sft, shape), 3)
        assert.isBelow(losses[2]!, losses[0]!)
      }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, SharedOrt.layer)))
    )
  }

  it.live("are packed into rows only if sequences in one row do not see each other", () =>
    Effect.gen(function* () {
      const packs = []
      for (const kind of ["gemma", "mixtral", "mamba2"] as const) {
        const { path } = made.get(kind)!
        const options = { ...Torch.optionsOf(process), name: kind, model: path, vocabSize: 96, maxPositions: 128 }
        const engine = yield* TorchEngine.make(options, packing)
        yield* engine.load({ objective: sft, maxLength: 32 })
        packs.push((yield* engine.usage).loaded?.isPacked)
      }
      assert.deepStrictEqual(packs, [true, true, false])
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, SharedOrt.layer)))
  )
})
