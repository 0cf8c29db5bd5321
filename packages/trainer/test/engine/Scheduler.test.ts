/** The scheduler over a real model in this thread: requests that come and go at random, long ones beside short ones. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as CounterRandom from "../../src/base/CounterRandom.ts"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import type { Answer, SeededRequest } from "../../src/engine/EngineProtocol.ts"
import type { TokenCompletion } from "../../src/engine/EngineRequests.ts"
import { defaults } from "../../src/engine/EngineSettings.ts"
import * as ExecutorRunner from "../../src/engine/ExecutorRunner.ts"
import * as KvShape from "../../src/engine/cache/KvShape.ts"
import { Scheduler } from "../../src/engine/Scheduler.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as ModelConfig from "../../src/model/ModelConfig.ts"
import * as TinyDecoder from "./TinyDecoder.ts"

const maxRows = 12

/** A scheduler of its own with the weights loaded. */
const started = Effect.fnUntraced(function* (model: typeof TinyDecoder.model, speculativeTokens: number) {
  const executor = yield* Ort.make({ device: "cpu", threads: 1 })
  const runner = yield* ExecutorRunner.make(executor, DecodeGraph.make(model))
  const scheduler = new Scheduler(runner, {
    ...defaults,
    maxRows,
    kvMemoryMegabytes: 32,
    prefillTokens: 256,
    speculativeTokens
  })
  const load = (policyVersion: number) => {
    const parameters = TinyDecoder.parameters(7, model)
    return scheduler.execute({ _tag: "Load", id: 0, policy: "base", policyVersion, parameters })
  }
  yield* load(0)
  return { scheduler, load, shape: runner.shape }
})

/** A prompt and an answer of whatever lengths; the longest fill several pages of any size. */
const requested = (seed: number, vocabulary: number): SeededRequest => {
  const uniform = (i: number) => CounterRandom.uniform(seed, 11, i)
  const length = 1 + Math.floor(uniform(0) ** 3 * 620)
  return {
    promptTokens: Array.from({ length }, (_, t) => (t * t * 7 + 3 * t + (seed % 3)) % vocabulary),
    n: 1 + Math.floor(3 * uniform(1)),
    maxTokens: 1 + Math.floor(60 * uniform(2)),
    temperature: uniform(3) < 0.2 ? 0 : 1,
    topP: 1,
    topK: 0,
    stopTokenIds: [],
    seed
  }
}

const generated = (answers: ReadonlyArray<Answer>) =>
  answers.flatMap((answer) => (answer._tag === "Generated" ? [answer] : []))

/** Without what depends on the prompts before. */
const plain = (choices: ReadonlyArray<TokenCompletion>) => choices.map(({ logprobs, tokens }) => ({ logprobs, tokens }))

const headOf256 = TinyDecoder.withConfig(
  Result.getOrThrow(
    ModelConfig.parse({ ...ModelConfig.encode(TinyDecoder.config), head_dim: 256, num_hidden_layers: 1 })
  )
)

const models = [
  ["heads of 8", TinyDecoder.model, 0],
  ["heads of 8 and guesses", TinyDecoder.model, 3],
  ["heads of 256", headOf256, 0]
] as const

describe("Scheduler", () => {
  it.live.each(models)(
    "samples the same bits whatever else comes and goes, in the memory that is used: %s",
    ([, model, guesses]) =>
      Effect.gen(function* () {
        const { load, scheduler, shape } = yield* started(model, guesses)
        const requests = Array.from({ length: 24 }, (_, id) => requested(id + 1, model.config.vocabSize))
        const answers: Array<Answer> = []
        const cancelled = new Set<number>()
        const open = new Map<number, SeededRequest>()
        const page = KvShape.bytesFor(shape, [1])
        let steps = 0
        const step = Effect.gen(function* () {
          yield* scheduler.step
          yield* scheduler.execute({ _tag: "Status", id: 1000 + ++steps })
          for (const answer of scheduler.takeReport().answers) {
            open.delete(answer.id)
            answers.push(answer)
          }
          const last = answers.at(-1)
          if (last?._tag !== "Status") return yield* Effect.die("no status")
          // Whole pages of what is open at most, an eighth more to grow by, and a third until it is given back.
          const most = [...open.values()].reduce((sum, { maxTokens, n, promptTokens }) => {
            const prompt = KvShape.bytesFor(shape, [promptTokens.length], KvShape.promptPage)
            return sum + prompt + n * (KvShape.pagesFor(promptTokens.length + maxTokens) + 1) * page
          }, 0)
          if (open.size > 0) assert.isAtMost(last.status.kvBytes, (4 / 3) * (9 / 8) * most + largest)
          largest = open.size === 0 ? 0 : last.status.kvBytes
        })
        let largest = 0
        for (const [id, request] of requests.entries()) {
          open.set(id, request)
          yield* scheduler.execute({ _tag: "Generate", id, request, stream: false })
          if (id % 9 === 5) yield* load(id)
          const uniform = CounterRandom.uniform(id, 12, 0)
          for (let i = 0; i < 20 * uniform; i++) yield* step
          const [first] = open.keys()
          if (id % 5 !== 4 || first === undefined) continue
          yield* scheduler.execute({ _tag: "Cancel", id: first })
          cancelled.add(first)
          open.delete(first)
        }
        while (!scheduler.isIdle) yield* step
        const done = generated(answers)
        assert.strictEqual(done.length + cancelled.size, requests.length)
        assert.isAbove(done.length, requests.length / 2)
        const alone = yield* started(model, guesses)
        for (const { choices, id } of done) {
          yield* alone.scheduler.execute({ _tag: "Generate", id, request: requests[id]!, stream: false })
          const own: Array<Answer> = []
          while (own.length === 0) {
            yield* alone.scheduler.step
            own.push(...generated(alone.scheduler.takeReport().answers))
          }
          assert.deepStrictEqual(plain(choices), plain(generated(own)[0]!.choices))
        }
      }).pipe(Effect.scoped)
  )
})
