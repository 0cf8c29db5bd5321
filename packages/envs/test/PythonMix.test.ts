/** What is understood of a Python package without Python: names with weights, and answers of the bridge. */
import { assert, describe, it } from "@effect/vitest"
import { SeededRandom } from "@atropos/core"
import { Effect, Schema } from "effect"
import { readAnswer } from "../src/python/PythonProcess.ts"
import * as Mix from "../src/python/Mix.ts"

const words = [".venv/bin/python"]

describe("a mix of data sets", () => {
  it.effect("is names with weights, each drawn as often as its weight says", () =>
    Effect.gen(function* () {
      const parts = yield* Mix.read("leg_counting:3, chain_sum")
      assert.deepStrictEqual(parts, [
        { name: "leg_counting", weight: 3 },
        { name: "chain_sum", weight: 1 }
      ])
      const draw = Mix.drawing(parts)
      const drawn = Array.from({ length: 4000 }, (_, index) => draw(SeededRandom.seeded(1, index)))
      assert.closeTo(drawn.filter((part) => part === 0).length / 4000, 0.75, 0.03)
    })
  )

  for (const [setting, why] of [
    ["a:0", "must be a number above 0"],
    ["a:x", 'is "x"'],
    ["a,,b", "is no name"],
    ["a:1:2", "is no name with a weight"],
    ["a, a", "names something twice"]
  ] as const) {
    it.effect(`"${setting}" is refused`, () =>
      Effect.map(Effect.flip(Mix.read(setting)), ({ message }) => assert.include(message, why))
    )
  }
})

describe("an answer of the bridge", () => {
  it.effect("is a result by its number", () =>
    Effect.gen(function* () {
      const answer = readAnswer('{"id": 3, "result": {"scores": [1]}}', "reasoning-gym", words)!
      assert.strictEqual(answer.id, 3)
      assert.deepStrictEqual(yield* answer.result, { scores: [1] })
    })
  )

  it.effect("of a package that is missing says how it is installed", () =>
    Effect.gen(function* () {
      const line = '{"id": 1, "error": "ModuleNotFoundError: No module", "kind": "ModuleNotFoundError", "trace": []}'
      const error = yield* Effect.flip(readAnswer(line, "reasoning-gym", words)!.result)
      assert.strictEqual(error.reason, "notInstalled")
      assert.include(error.message, '.venv/bin/python -m pip install "reasoning-gym"')
    })
  )

  it.prop("is nothing else that a process may print", [Schema.String], ([line]) => {
    assert.isUndefined(readAnswer(`# ${line}`, "p", words))
  })
})
