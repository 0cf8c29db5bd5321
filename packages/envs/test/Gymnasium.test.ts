import { assert, describe, it } from "@effect/vitest"
import * as Gymnasium from "../src/connected/Gymnasium.ts"

const actionOf = (answer: string) => Gymnasium.actionOf(answer, { actions: { count: 2, start: 0 } }, ["stick", "hit"])
const said = (text: string) => actionOf(`<action>${text}</action>`)

describe("the action of an answer to a world of gymnasium", () => {
  it("is said by name or number", () => {
    assert.deepStrictEqual(
      [said("hit"), said(" Stick "), said("1"), said("2"), said("-1"), said("run")],
      [1, 0, 1, undefined, undefined, undefined]
    )
  })

  it("is the last that stands between tags", () => {
    assert.strictEqual(actionOf("<action>hit</action> no: <action>a</action> <action>stick</ACTION> <action>"), 0)
    assert.strictEqual(said("a <action>hit"), 1)
    assert.strictEqual(actionOf("<action>hit</action> or </action>"), 1)
    for (const none of ["hit", "<action>hit", "hit</action>", "</action>hit<action>"]) {
      assert.isUndefined(actionOf(none), none)
    }
  })
})
