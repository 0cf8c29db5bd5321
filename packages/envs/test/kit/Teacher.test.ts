import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, References } from "effect"
import type { RolloutGroup } from "@atropos/core/Environment"
import * as ServerManager from "@atropos/core/inference/ServerManager"
import * as Teacher from "../../src/kit/Teacher.ts"
import { bytes, layerBytes, type TokenizerShape } from "@atropos/core/inference/tokenizer/Tokenizer"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import { trajectory } from "../../../core/test/rollout/RolloutTest.ts"

const scripted = Teacher.layerNoDeps.pipe(
  Layer.provide(ServerManager.layerScripted([""])),
  Layer.provideMerge(layerBytes)
)

const group = (more: Partial<RolloutGroup> = {}): RolloutGroup => ({
  trajectories: [trajectory(5), trajectory(6)],
  ...more
})

const attached = (given: RolloutGroup, topK = 2) =>
  Effect.flatMap(Teacher.required, (teacher) => Teacher.attach(teacher, given, topK))

/** Candidates per position of the first sequence. */
const widths = ({ distillTokenIds }: RolloutGroup) => distillTokenIds?.[0]?.map((ids) => ids.length)

/** A tokenizer of these words. */
const named = (name: string, words: ReadonlyArray<string>): TokenizerShape => ({
  ...bytes,
  name,
  vocabulary: () => new Map(words.map((word, id) => [word, id]))
})

describe("Teacher", () => {
  it.effect("attaches its likeliest tokens, aligned with those of the rollouts", () =>
    Effect.gen(function* () {
      const { distillLogprobs, distillTokenIds } = yield* attached(group())
      assert.strictEqual(distillTokenIds!.length, 2)
      // The scripted teacher holds the token itself for likeliest, then its neighbour.
      assert.deepStrictEqual(distillTokenIds![1], [
        Int32Array.of(),
        Int32Array.of(1, 2),
        Int32Array.of(2, 3),
        Int32Array.of(3, 4)
      ])
      assert.deepStrictEqual(distillLogprobs![1]![3], Float32Array.of(Math.log(0.5), 2 * Math.log(0.5)))
    }).pipe(Effect.provide(scripted))
  )

  it.effect("a group may ask for another number of tokens, or for none", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(widths(yield* attached(group({ groupOverrides: { teacher_top_k: 3 } }))), [0, 3, 3, 3])
      assert.isUndefined(widths(yield* attached(group({ groupOverrides: { skip_teacher_top_k: true } }))))
      assert.isUndefined(widths(yield* attached(group(), -1)))
      // As in the original, 0 still has the likeliest one.
      assert.deepStrictEqual(widths(yield* attached(group(), 0)), [0, 1, 1, 1])
    }).pipe(Effect.provide(scripted))
  )

  it.live("reads the prompt logprobs of a server, asks nothing of the policy's, and fails where they do not fit", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(
        ({ body }) => {
          const ids = (body["prompt"] as { readonly prompt_token_ids: ReadonlyArray<number> }).prompt_token_ids
          const positions = ids.map((id, at) => (at === 0 ? null : { [id]: -0.25, 9: -1.5 }))
          return { json: { prompt_logprobs: ids[0] === 6 ? positions.slice(1) : positions } }
        },
        { owner: "atropos" }
      )
      const layer = Teacher.layer([{ baseUrl: `${server.url}/v1`, tokenizerName: "bytes" }])
      const one = yield* attached({ trajectories: [trajectory(5)] }, 2).pipe(Effect.provide(layer))
      assert.deepStrictEqual(one.distillTokenIds![0]![2], Int32Array.of(2, 9))
      assert.deepStrictEqual(one.distillLogprobs![0]![2], Float32Array.of(-0.25, -1.5))
      assert.deepStrictEqual(
        server.asked.map(({ body, path }) => [path, body["prompt_logprobs"]]),
        [["/generate", 2]]
      )
      const error = yield* Effect.flip(attached(group()).pipe(Effect.provide(layer)))
      assert.strictEqual(error._tag, "InferenceError")
      assert.match(error.message, /4 prompt tokens but 3 positions/)
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("takes the same tokenizer, or the same vocabulary under another name, and no other", () =>
    Effect.gen(function* () {
      const teacher = yield* Teacher.required
      yield* Teacher.check(teacher, bytes)
      const of = (tokenizer: TokenizerShape) => ({ ...teacher, tokenizer })
      yield* Teacher.check(of(named("big", ["a", "b"])), named("small", ["a", "b"]))
      for (const words of [["b", "a"], ["a"], ["a", "b", "c"]]) {
        const error = yield* Effect.flip(Teacher.check(of(named("big", words)), named("small", ["a", "b"])))
        assert.match(error.message, /big has a different vocabulary from the policy's, small/)
      }
      assert.strictEqual((yield* Effect.flip(Teacher.check(of(named("big", [])), bytes)))._tag, "VocabularyMismatch")
    }).pipe(Effect.provide(scripted))
  )

  it.effect("where none is configured says so by name of the flag; its tokenizer is asked for by name too", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.provide(Teacher.required, Teacher.layer([])))
      assert.match(String(error), /needs a teacher, but none is configured: set --teacher\.base_url/)
      const unknown = Teacher.layer([{ baseUrl: "http://127.0.0.1:1/v1", modelName: "no such/tokenizer/name" }])
      assert.include(
        (yield* Effect.flip(Effect.provide(Teacher.required, unknown))).message,
        "--teacher.tokenizer_name"
      )
    })
  )
})
