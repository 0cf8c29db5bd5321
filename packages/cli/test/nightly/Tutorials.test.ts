/** The tutorials that train, followed word for word. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Tutorial from "../pages/Tutorial.ts"

layer(NodeServices.layer, { excludeTestServices: true })("the tutorials", (it) => {
  it.effect("1: the first run raises the reward", () =>
    Effect.gen(function* () {
      yield* Tutorial.makeFolder
      const [run = ""] = yield* Tutorial.follow("1-the-first-run")
      const [, before = "NaN", after = "NaN"] = /mean reward\s+([\d.]+) at the start, ([\d.]+)/.exec(run) ?? []
      assert.isAbove(Number(after), Number(before))
    })
  )

  it.effect("4 and 5: what was trained is served, evaluated and compared with its model", () =>
    Effect.gen(function* () {
      yield* Tutorial.makeFolder
      const [run] = yield* Tutorial.follow("4-your-model")
      assert.match(run!, /20 steps in/)
      const [, , compared] = yield* Tutorial.follow("5-evaluate")
      assert.match(compared!, /items in both\s+20\n/)
      const [, fixed = "0"] = /fixed\s+(\d+)/.exec(compared!) ?? []
      assert.isAbove(Number(fixed), 0)
      assert.match(compared!, /Mia has \d+ pears\. .*: .* → .*\d/)
    })
  )

  it.effect("7: four processes train together", () =>
    Effect.gen(function* () {
      yield* Tutorial.makeFolder
      const [trained] = yield* Tutorial.follow("7-several-processes")
      assert.match(trained!, /steps\s+5\n/)
    })
  )

  it.effect("8: the devices of this machine are listed", () =>
    Effect.gen(function* () {
      yield* Tutorial.makeFolder
      const [doctor] = yield* Tutorial.follow("8-gpus-and-engines")
      assert.match(doctor!, /ok\s+device cpu/)
    })
  )
})
