import { Message, SeededRandom } from "@atropos/core"
import { Episode } from "@atropos/envs"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as TaxiRules from "../../src/games/TaxiRules.ts"
import { words } from "../../src/games/Words.ts"
import * as Taxi from "../../src/games/Taxi.ts"
import * as Wordle from "../../src/games/Wordle.ts"

const index = (length: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: length - 1 }))

const tagged = (action: string) => `<action>${action}</action>`

describe("Taxi", () => {
  const game = Taxi.makeGame(30)
  const scoreOf = (at: number, answers: ReadonlyArray<string>) => {
    const start = { at, hasBeenPickedUp: false }
    return game.score(start, Episode.replay(game, start, answers))
  }

  it.prop("states and positions are each other's inverse", [index(500)], ([state]) => {
    assert.strictEqual(TaxiRules.encode(TaxiRules.decode(state)), state)
  })

  it("tells the landmarks where the game has them", () => {
    const rules = Message.text(game.opening({ at: TaxiRules.starts[0]!, hasBeenPickedUp: false })[0]!)
    assert.include(rules, "red is at row 0, column 0")
    assert.include(rules, "green is at row 0, column 4")
    assert.include(rules, "yellow is at row 4, column 0")
    assert.include(rules, "blue is at row 4, column 3")
  })

  it.prop(
    "the shortest way delivers with the value of its start, and scores 1",
    [index(TaxiRules.starts.length)],
    ([at]) => {
      const start = TaxiRules.starts[at]!
      const { isOver, rewards } = Episode.replay(
        game,
        { at: start, hasBeenPickedUp: false },
        TaxiRules.shortestWay(start).map(tagged)
      )
      assert.isTrue(isOver)
      assert.strictEqual(
        rewards.reduce((sum, reward) => sum + reward, 0),
        TaxiRules.value(start)
      )
      assert.strictEqual(scoreOf(start, TaxiRules.shortestWay(start).map(tagged)), 1)
    }
  )

  it.prop("every action is worth at most what its state is", [index(TaxiRules.starts.length)], ([at]) => {
    const state = TaxiRules.starts[at]!
    for (const action of TaxiRules.actions) {
      const { isOver, reward, state: next } = TaxiRules.act(state, action)
      assert.isAtMost(reward + (isOver ? 0 : TaxiRules.value(next)), TaxiRules.value(state))
    }
  })

  it("picking up counts, going west does not", () => {
    const start = TaxiRules.encode({ row: 0, column: 1, passenger: 0, destination: 1 })
    assert.strictEqual(scoreOf(start, [tagged("west")]), -1)
    assert.strictEqual(scoreOf(start, [tagged("west"), tagged("pickup")]), -0.5)
    assert.strictEqual(scoreOf(start, ["take them along"]), -1)
  })

  it("a detour costs, and a refused action costs more", () => {
    const start = TaxiRules.encode({ row: 0, column: 1, passenger: 0, destination: 1 })
    const way = TaxiRules.shortestWay(start).map(tagged)
    const detour = scoreOf(start, [tagged("east"), ...way])
    const refused = scoreOf(start, [tagged("dropoff"), ...way])
    assert.isBelow(detour, 1)
    assert.isBelow(refused, detour)
  })
})

describe("Wordle", () => {
  it("marks right places first, and a letter no more often than it occurs", () => {
    assert.strictEqual(Wordle.mark("crane", "crane"), "ggggg")
    assert.strictEqual(Wordle.mark("about", "crane"), "yxxxx")
    assert.strictEqual(Wordle.mark("speed", "erase"), "yxyyx")
    assert.strictEqual(Wordle.mark("geese", "these"), "xxggg")
    assert.strictEqual(Wordle.mark("allow", "label"), "yyyxx")
  })

  it.prop("the hidden word stays among what the marks allow", [index(words.length), index(words.length)], ([a, b]) => {
    const [hidden, word] = [words[a]!, words[b]!]
    assert.include(Wordle.candidates([{ word, marks: Wordle.mark(word, hidden) }]), hidden)
  })

  it("the list holds words of five letters, each once", () => {
    assert.isAbove(words.length, 700)
    assert.strictEqual(new Set(words).size, words.length)
    assert.isTrue(words.every((word) => /^[a-z]{5}$/.test(word)))
  })

  it("a later solution scores less, none scores by what was learnt", () => {
    const start = Wordle.game.start(SeededRandom.seeded(1, 1))
    const right = `<guess>${start.hidden}</guess>`
    const other = `<guess>${words.find((word) => word !== start.hidden && new Set(word + start.hidden).size < 9)!}</guess>`
    const scoreOf = (...answers: ReadonlyArray<string>) =>
      Wordle.game.score(start, Episode.replay(Wordle.game, start, answers))
    assert.strictEqual(scoreOf(right), 1)
    assert.approximately(scoreOf(other, right), 0.9, 1e-12)
    assert.approximately(scoreOf("hm", "hm", "hm", "hm", "hm", right), 0.5, 1e-12)
    assert.strictEqual(scoreOf("hm"), 0)
    assert.isAbove(scoreOf(other), 0)
    assert.isAtMost(scoreOf(other), 0.3)
  })
})
