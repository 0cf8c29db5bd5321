/** The model that comes with the command: what it is before reinforcement learning. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Message, OutputFormats } from "@atropos/core"
import { ArithmeticStories } from "@atropos/envs"
import * as Engine from "@atropos/trainer/engine/Engine"
import type { Model } from "@atropos/trainer/model/Model"
import * as Trained from "@atropos/trainer/model/Model"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as PolicyLayers from "@atropos/trainer/server/PolicyLayers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { statSync } from "node:fs"
import * as Documents from "../../../../scripts/internal/bundled/Documents.ts"
import * as BundledModel from "../../src/config/BundledModel.ts"
import * as InProcess from "../InProcess.ts"
import expected from "../fixtures/bundled/tokens.json" with { type: "json" }

const folder = BundledModel.located(BundledModel.word)
const adapter = { r: 4, alpha: 8, targetModules: ["all-linear"], rslora: false }
const load = PretrainedModel.load(folder, { trains: adapter, seed: 0 })
const services = Layer.merge(NodeServices.layer, FetchHttpClient.layer)

const heldOut = (index: number) =>
  ArithmeticStories.story({
    seed: ArithmeticStories.evaluationSeedOffset,
    index,
    difficulty: 2,
    largestNumber: 20
  })

const promptOf = ({ tokenizer }: Model, question: string) =>
  tokenizer.encode(
    tokenizer.applyChatTemplate([Message.system(ArithmeticStories.instructions), Message.user(question)], {
      addGenerationPrompt: true
    })
  )

describe("the bundled model", () => {
  it.live("has the ids and the prompts that Hugging Face's Python libraries have", () =>
    Effect.gen(function* () {
      const { tokenizer } = yield* load
      for (const { ids, text } of expected.texts) assert.deepStrictEqual(tokenizer.encode(text), ids)
      for (const { messages, prompt, tools } of expected.chats) {
        // JSON of the library's, whose calls have their arguments as objects.
        const chat = messages as unknown as ReadonlyArray<Message.Message>
        const options = { addGenerationPrompt: true, ...(tools.length > 0 && { tools }) }
        assert.strictEqual(tokenizer.applyChatTemplate(chat, options), prompt)
      }
    }).pipe(Effect.provide(services))
  )

  it.live("writes calls as Hermes does, and a chat without tools as it has always", () =>
    Effect.gen(function* () {
      const { tokenizer } = yield* load
      assert.strictEqual(OutputFormats.of(tokenizer).name, "hermes")
      const chat = [Message.system("Be brief."), Message.user("What is 2+3?")]
      assert.strictEqual(
        tokenizer.applyChatTemplate(chat, { addGenerationPrompt: true }),
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is 2+3?<|im_end|>\n<|im_start|>assistant\n"
      )
    }).pipe(Effect.provide(services))
  )

  it.live("goes by its word wherever it lies, and in checkpoints by its content", () =>
    Effect.gen(function* () {
      const model = yield* load
      const named = yield* BundledModel.named(model, BundledModel.word)
      assert.deepStrictEqual([named.name, named.tokenizer.name], [BundledModel.word, BundledModel.word])
      assert.match(Trained.trainable(named).name, /^bundled \(sha256 [0-9a-f]{12}\)$/)
      assert.strictEqual((yield* BundledModel.named(model, folder)).name, folder)
    }).pipe(Effect.provide(services))
  )

  it("is small enough to come with the command", () => {
    assert.isBelow(statSync(`${folder}/model.safetensors`).size, 25e6)
  })

  it("was pretrained on no held-out story, and is trained on none", () => {
    const held = new Set(Array.from({ length: 64 }, (_, index) => heldOut(index).question))
    const seen = [Documents.story, Documents.toolStory].flatMap((make) =>
      Array.from({ length: 3000 }, (_, index) => Documents.textOf(make(index, 50)))
    )
    const trained = Array.from(
      { length: 3000 },
      (_, index) => ArithmeticStories.story({ seed: 0, index, difficulty: 2, largestNumber: 20 }).question
    )
    assert.isTrue(held.isSubsetOf(Documents.heldOut))
    assert.isFalse(
      seen.some((text) => Documents.heldOut.has(text.split("\n").find((line) => line.endsWith("?")) ?? ""))
    )
    assert.isTrue(held.isDisjointFrom(new Set(trained)))
  })

  it.live("solves few held-out stories", () =>
    Effect.gen(function* () {
      const model = yield* load
      yield* Effect.gen(function* () {
        const engine = yield* Engine.Engine
        const answer = (promptTokens: ReadonlyArray<number>) =>
          Effect.map(
            engine.generate({
              promptTokens,
              n: 1,
              maxTokens: 64,
              temperature: 0,
              topP: 1,
              topK: 0,
              stopTokenIds: model.config.eosTokenIds
            }),
            ([completion]) => model.tokenizer.decode([...completion!.tokens])
          )
        const stories = Array.from({ length: 20 }, (_, index) => heldOut(index))
        const answers = yield* Effect.forEach(stories, ({ question }) => answer(promptOf(model, question)), {
          concurrency: 20
        })
        const solved = answers.filter((text, at) => ArithmeticStories.parseAnswer(text) === stories[at]!.answer)
        assert.isBelow(solved.length, 6)
      }).pipe(Effect.provide(PolicyLayers.layerEngine(model, { device: "cpu" })))
    }).pipe(Effect.provide(services))
  )

  it.live("is named where its word is misspelt", () =>
    Effect.gen(function* () {
      const words = ["up", "--port", "0", "--policy_port", "0", "--env", "arithmetic-stories", "--model", "bundle"]
      const { code, stderr } = yield* InProcess.run(words)
      assert.strictEqual(code, 2)
      assert.strictEqual(
        stderr,
        "atropos: --model bundle: folder not found; did you mean bundled, the small language model that comes with Atropos?\n"
      )
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
