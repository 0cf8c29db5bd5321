import { assert, describe, it } from "@effect/vitest"
import * as Expected from "@atropos/core/evaluation/Expected"
import * as GroupFigures from "../../src/rollout/GroupFigures.ts"

const chatOf = (content: string) => [
  { role: "user", content: "6 * 3?" },
  { role: "assistant", content }
]
const saying = (gold: ReadonlyArray<string>, ...said: ReadonlyArray<string>) => {
  const isExpected = Expected.of({ groupOverrides: { gold }, messages: said.map(chatOf) })
  return said.map((_, at) => isExpected?.(at))
}
const read = (gold: string, parsed: string | null) =>
  Expected.of({ groupOverrides: { gold: [gold] }, overrides: [{ parsed }], messages: [chatOf(`not ${gold}`)] })?.(0)

const shown = (gold: unknown) => GroupFigures.of({ scores: [1], groupOverrides: { gold } }).expected

describe("Expected", () => {
  it("finds the answer at the end of what was said, in a box, behind thinking, with a sign behind it", () => {
    assert.deepStrictEqual(
      saying(
        ["\\boxed{18}"],
        "So \\boxed{18}.",
        "It is 18.",
        "<think>7</think>18",
        "18",
        "118",
        "It was 18, now 19",
        "1.18"
      ),
      [true, true, true, true, false, false, false]
    )
    assert.deepStrictEqual(saying(["<answer>Paris</answer>"], "paris", "It is Paris!", "Paris or Rome"), [
      true,
      true,
      false
    ])
  })

  it("takes the answer as it was read before what was said", () => {
    assert.deepStrictEqual(
      [read("1200", "1,200"), read("18", "18.0"), read("18", "19"), read("18", null)],
      [true, true, false, false]
    )
  })

  it("knows nothing where nobody says what is expected, or only in many words", () => {
    assert.isUndefined(Expected.of({ messages: [chatOf("18")] }))
    assert.isUndefined(Expected.of({ groupOverrides: { gold: ["x".repeat(1000)] }, messages: [chatOf("x")] }))
  })

  it("marks the fingerprints of a group's answers, which are alike without their marks", () => {
    const sent = { scores: [1, 0, 1], masks: [[1], [1], [1]], messages: ["18", "19", "18"].map(chatOf) }
    const plain = GroupFigures.of(sent).answers
    const marked = GroupFigures.of({ ...sent, groupOverrides: { gold: ["18"] } }).answers
    assert.deepStrictEqual(marked, [`=${plain[0]}`, plain[1]!, `=${plain[0]}`])
    assert.match(plain[0]!, /^[0-9a-f]{12}$/)
  })

  it("is shown in lists as the first of its forms, on one line and cut", () => {
    assert.strictEqual(shown(["4\n 2", "42"]), "4 2")
    assert.strictEqual(shown(["😀".repeat(100)]), `${"😀".repeat(79)}…`)
    for (const none of [undefined, [], [""], [42], "42"]) assert.isUndefined(shown(none))
  })
})
