import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Beginnings from "../../viewer/src/groups/compare/Beginnings.ts"
import * as Sequences from "../../viewer/src/groups/compare/Sequences.ts"
import * as Group from "../../viewer/src/groups/model/Group.ts"

describe("Beginnings", () => {
  it("has each shared stretch once, and those that end with it", () => {
    assert.deepStrictEqual(Beginnings.of([[1, 2, 3, 4], [1, 2, 5], [1, 2], [9]]), [
      {
        from: 0,
        to: 2,
        members: [0, 1, 2],
        ending: [2],
        next: [
          { from: 2, to: 4, members: [0], ending: [0], next: [] },
          { from: 2, to: 3, members: [1], ending: [1], next: [] }
        ]
      },
      { from: 0, to: 1, members: [3], ending: [3], next: [] }
    ])
  })

  const sequences = Schema.Array(Schema.Array(Schema.Literals([1, 2, 3])))

  it.prop("gives every sequence back along its branches, and each ends once", [sequences], ([sequences]) => {
    const found = new Map<number, ReadonlyArray<number | string>>()
    const walk = (branch: Beginnings.Beginning, before: ReadonlyArray<number | string>): void => {
      const own = sequences[branch.members[0]!]!.slice(branch.from, branch.to)
      const whole = [...before, ...own]
      assert.strictEqual(branch.members.length, branch.ending.length + branch.next.flatMap((one) => one.members).length)
      for (const member of branch.ending) {
        assert.isFalse(found.has(member))
        found.set(member, whole)
      }
      for (const next of branch.next) walk(next, whole)
    }
    for (const branch of Beginnings.of(sequences)) walk(branch, [])
    for (const [place, sequence] of sequences.entries()) assert.deepStrictEqual(found.get(place) ?? [], sequence)
  })
})

describe("Sequences", () => {
  const chats = ["blue sky", "blue sea"].map((content) => [{ role: "assistant", content }])

  it("are the words of chats where there are no tokens", () => {
    const group = Group.read({ tokens: [], scores: [1, 0], messages: chats })!
    const { text, unit, units } = Sequences.of(group, {})
    assert.strictEqual(unit, "word")
    const at = Beginnings.firstDifference(units[0]!, units[1]!)
    assert.deepStrictEqual([text(0, at, at + 1), text(1, at, at + 1)], ["sky", "sea"])
  })

  it("are told apart by their sessions", () => {
    const group = Group.read({
      tokens: [[1], [2], [3]],
      scores: [1, 0, 0],
      overrides: [{ session: 0 }, { session: 1 }, { session: 1 }]
    })!
    assert.deepStrictEqual(Sequences.sessionsOf(group), [
      { name: "0", members: [0] },
      { name: "1", members: [1, 2] }
    ])
  })
})
