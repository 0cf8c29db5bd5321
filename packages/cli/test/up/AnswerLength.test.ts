/** How long answers may be unless it is set. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Option } from "effect"
import * as AnswerLength from "../../src/up/AnswerLength.ts"
import type * as Lengths from "../../src/up/Lengths.ts"

const lengths = (answers: ReadonlyArray<number>, areCut = false): Lengths.Lengths => ({
  rollouts: answers.map((answer) => ({ prompt: 30, answer })),
  prompt: 30,
  areCut,
  heldOut: 8
})

describe("the longest answer", () => {
  it("is twice the longest that was seen, rounded up, and never above the environment's own limit", () => {
    assert.strictEqual(AnswerLength.choose(lengths([3, 40]), 2048), 128)
    assert.strictEqual(AnswerLength.choose(lengths([1]), 2048), 64)
    assert.strictEqual(AnswerLength.choose(lengths([700]), 1000), 1000)
  })

  it("is short where answers did not end in time, and the environment's own where none was asked", () => {
    assert.strictEqual(AnswerLength.choose(lengths([], true), 2048), 256)
    assert.strictEqual(AnswerLength.choose(lengths([300], true), 2048), 1024)
    assert.strictEqual(AnswerLength.choose(lengths([]), 2048), 2048)
  })

  it.effect("is kept for the run that goes on", () =>
    Effect.gen(function* () {
      const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      assert.isTrue(Option.isNone(yield* AnswerLength.kept(folder)))
      yield* AnswerLength.keep(folder, 128)
      assert.deepStrictEqual(yield* AnswerLength.kept(folder), Option.some(128))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
