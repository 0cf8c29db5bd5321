import { assert, describe, it } from "@effect/vitest"
import * as Group from "../../viewer/src/groups/model/Group.ts"
import * as Waterfall from "../../viewer/src/groups/waterfall/Waterfall.ts"

const turn = (role: string) => ({ role, content: role })
const group = Group.read({
  tokens: [[1, 2, 3, 4, 5, 6]],
  masks: [[-100, 2, 3, -100, 5, -100]],
  scores: [1],
  messages: [[turn("user"), turn("assistant"), turn("tool"), turn("assistant")]],
  timings: [
    {
      turns: [
        [10, 30, 100],
        [150, 150, 190]
      ],
      scored: [190, 200]
    }
  ]
})!
const [one] = Waterfall.of(group.rollouts)

/** A call of 5 ms. */
const call = (from: number) => ({
  from,
  to: from + 5,
  title: String(from),
  kind: "read",
  status: "failed",
  text: ""
})

describe("Waterfall", () => {
  it("lays what is known of a rollout's time end to end, from its start to its score", () => {
    const spans = Waterfall.spansOf(one!)
    assert.deepStrictEqual(
      spans.map(({ from, kind, to }) => [kind, from, to]),
      [
        ["environment", 0, 10],
        ["waiting", 10, 30],
        ["generating", 30, 100],
        ["tools", 100, 150],
        ["generating", 150, 190],
        ["scoring", 190, 200]
      ]
    )
    assert.deepStrictEqual(
      one!.turns.map(({ tokens }) => tokens),
      [2, 1]
    )
    assert.strictEqual(
      Waterfall.summarize(one!, String),
      "0.2 and 2 turns: 55% generating, 25% tools, 10% waiting for a server, 5% environment, 5% scoring."
    )
  })

  it("has an agent's calls with the turn that they follow, in order of time, and not very many", () => {
    const turns = [
      [10, 10, 20],
      [40, 40, 50]
    ]
    const waterfall = (calls: ReadonlyArray<unknown>) =>
      Waterfall.of(Group.read({ tokens: [[1]], masks: [[1]], scores: [1], timings: [{ turns, calls }] })!.rollouts)[0]!
    const { moreCalls, to, turns: shown } = waterfall([call(60), call(30), call(5), call(25)])
    assert.deepStrictEqual(
      shown.map(({ calls }) => calls.map(({ from }) => from)),
      [[5, 25, 30], [60]]
    )
    assert.deepStrictEqual([to, moreCalls], [65, 0])
    const many = waterfall(Array.from({ length: 100_000 }, (_, at) => call(at)))
    assert.strictEqual(many.turns.flatMap(({ calls }) => calls).length + many.moreCalls, 100_000)
    assert.isAtMost(many.turns.flatMap(({ calls }) => calls).length, 200)
  })

  it("names a straggler where the others waited a tenth of the time or longer", () => {
    const others = (answered: number) => ({ ...one!, index: 1, answered })
    assert.deepStrictEqual(Waterfall.straggler([others(100), one!]), { index: 0, millis: 90 })
    assert.isNull(Waterfall.straggler([others(180), one!]))
    assert.isNull(Waterfall.straggler([one!]))
  })

  it("has round times for an axis", () => {
    assert.deepStrictEqual(Waterfall.ticks(9000, 4), [0, 5000])
    assert.deepStrictEqual(Waterfall.ticks(7, 8), [0, 1, 2, 3, 4, 5, 6, 7])
    assert.deepStrictEqual(Waterfall.ticks(0, 8), [0])
  })

  it("takes nothing for times that makes no sense", () => {
    for (const timings of [[{ turns: [[3]] }], [1], "x", [], [{ turns: [], scored: [1, 2] }]]) {
      const odd = Group.read({ tokens: [[1]], masks: [[1]], scores: [1], timings })!
      assert.deepStrictEqual(Waterfall.of(odd.rollouts), [])
    }
  })
})
