import { Environment, Message, ServerManager } from "@atropos/core"
import { Episode } from "@atropos/envs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as Blackjack from "../../src/games/Blackjack.ts"
import * as Rules from "../../src/games/BlackjackRules.ts"

const sab: Rules.Rules = { sab: true, natural: false }
const deckOf = (...cards: ReadonlyArray<number>) => Rules.deal((position) => cards[position] ?? 10)
const game = Blackjack.makeGame({ ...sab, promptStyle: "chat" })
const compact = Blackjack.makeGame({ ...sab, promptStyle: "compact" })

const groupsOf = (settings: Parameters<typeof Blackjack.layer>[0], script: ServerManager.Script, count: number) =>
  Effect.gen(function* () {
    const { groups } = yield* Environment.Environment
    return yield* Stream.runCollect(Stream.take(groups, count))
  }).pipe(Effect.provide(Blackjack.layer(settings).pipe(Layer.provide(ServerManager.layerScripted(script)))))

describe("Blackjack", () => {
  it("reads the last decision after the thinking", () => {
    assert.strictEqual(Blackjack.actionOf("<action>hit</action>", "chat"), "hit")
    assert.strictEqual(
      Blackjack.actionOf("<think><action>hit</action></think><action> Stick </action>", "chat"),
      "stick"
    )
    assert.strictEqual(Blackjack.actionOf("<action>hit</action> no, <action>stick</action>", "chat"), "stick")
    assert.isUndefined(Blackjack.actionOf("hit", "chat"))
    assert.isUndefined(Blackjack.actionOf("<think><action>hit</action></think>", "chat"))
    // Thinking that was cut off decides nothing.
    assert.isUndefined(Blackjack.actionOf("<think>If I <action>hit</action> now", "chat"))
    assert.strictEqual(Blackjack.actionOf("h", "compact"), "hit")
    assert.isUndefined(Blackjack.actionOf("hh", "compact"))
  })

  it("an answer without a decision loses, and so does a hand that is never ended", () => {
    const start = deckOf(10, 7, 2, 3)
    assert.strictEqual(game.score(start, Episode.replay(game, start, ["I fold"])), -1)
    assert.strictEqual(game.score(start, Episode.replay(game, start, ["<action>hit</action>"])), -1)
  })

  it("scores by the dealer's hand: 20 beats 17, 21 drawn by the dealer beats 20", () => {
    const stick = ["<action>stick</action>"]
    const wins = deckOf(10, 7, 10, 10)
    const loses = deckOf(10, 6, 10, 10, 5)
    assert.strictEqual(game.score(wins, Episode.replay(game, wins, stick)), 1)
    assert.strictEqual(game.score(loses, Episode.replay(game, loses, stick)), -1)
  })

  it("expects of the best play what is known of these rules", () => {
    // Sutton and Barto, figure 5.2: stick on hard 17 or more, on soft 19 or more; hit 16 against a ten, stick against a
    // six.
    const act = (player: ReadonlyArray<number>, open: number) => {
      const { hit, stick } = Rules.actionValues({ player, dealer: [open] }, sab)
      return hit > stick ? "hit" : "stick"
    }
    assert.strictEqual(act([10, 6], 10), "hit")
    assert.strictEqual(act([10, 6], 6), "stick")
    assert.strictEqual(act([10, 7], 10), "stick")
    assert.strictEqual(act([1, 7], 9), "hit")
    assert.strictEqual(act([1, 8], 9), "stick")
    assert.strictEqual(act([10, 3], 2), "stick")
    assert.strictEqual(act([10, 2], 2), "hit")
    // A natural loses to nothing: 1 but for the dealer's own natural, which comes to a ten in one of 13 cases.
    assert.approximately(Rules.value({ player: [1, 10], dealer: [10] }, sab), 12 / 13, 1e-12)
  })

  it("the value of a state is the mean return of the best play", () => {
    // 40,000 hands by the policy that the values give; the standard error of the mean is below 0.005.
    const starts = Array.from({ length: 40_000 }, (_, seed) => {
      let state = seed * 2_654_435_761
      return Rules.deal(() => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
        return Rules.ranks[Math.floor((state / 2 ** 32) * 13)]!
      })
    })
    let returns = 0
    let expected = 0
    for (const start of starts) {
      expected += Rules.value(start, sab)
      for (let at = start; ;) {
        const { hit, stick } = Rules.actionValues(at, sab)
        const { isOver, reward, state } = Rules.act(at, hit > stick ? "hit" : "stick", sab)
        returns += reward
        at = state
        if (isOver) break
      }
    }
    assert.approximately(returns / starts.length, expected / starts.length, 0.02)
    assert.approximately(expected / starts.length, -0.045, 0.02)
  })

  it("the value looks at no hidden card and none to come", () => {
    const seen = new Set<number>()
    for (const hidden of Rules.ranks) {
      for (const next of Rules.ranks) seen.add(game.value(deckOf(6, hidden, 10, 4, next)))
    }
    assert.strictEqual(seen.size, 1)
  })

  it("asks in a few characters for models that know no words", () => {
    assert.deepStrictEqual(compact.opening(deckOf(10, 2, 1, 6)), [Message.user("N+0=")])
    const { observation } = compact.step(deckOf(9, 2, 10, 2, 4), "h")
    assert.strictEqual(observation, "M-9=")
    for (const character of "N+0=M-9=hs") assert.include(Blackjack.characters, character)
  })

  it.effect("a group of whole hands is dealt the same cards and is scored by its decisions", () =>
    Effect.gen(function* () {
      const answers = ["<action>stick</action>", "<action>stick</action>", "no idea"]
      const [group] = yield* groupsOf({ groupSize: 3 }, answers, 1)
      const openings = new Set(group!.messages!.map((messages) => Message.text(messages[1]!)))
      assert.strictEqual(openings.size, 1)
      const told = group!.messages!.map((messages) => Message.text(messages.at(-1)!))
      for (const [index, text] of told.entries()) {
        if (text === "no idea") assert.strictEqual(group!.scores[index], -1)
      }
      assert.includeMembers(told, ["no idea", "<action>stick</action>"])
    })
  )

  it.effect("turn by turn, every decision has a group of alternatives with their own advantages", () =>
    Effect.gen(function* () {
      const script = ["<action>hit</action>", "<action>stick</action>"]
      const groups = yield* groupsOf({ groupSize: 2, mode: "stepwise" }, script, 8)
      for (const { messages, scores } of groups) {
        assert.strictEqual(messages!.length, 2)
        assert.isTrue(scores.every((score) => Math.abs(score) <= 2))
        assert.deepStrictEqual(
          messages!.map((chat) => Message.text(chat.at(-1)!)),
          script
        )
        // The same state was asked twice.
        assert.deepStrictEqual(messages![0]!.slice(0, -1), messages![1]!.slice(0, -1))
      }
      assert.isTrue(
        groups.some(({ messages }) => messages![0]!.length > 3),
        "some hand goes on"
      )
    })
  )

  it.effect("an answer of the one character that the compact form asks for is not truncated", () =>
    Effect.gen(function* () {
      for (const mode of ["episode", "stepwise"] as const) {
        const [group] = yield* groupsOf({ groupSize: 2, promptStyle: "compact", mode }, ["s and more", "h and more"], 1)
        assert.isTrue(group!.overrides?.every((one) => one?.["finish_reason"] === undefined) ?? true, mode)
      }
    })
  )
})
