import { assert, describe, it } from "@effect/vitest"
import { SeededRandom } from "@atropos/core"
import { Effect, Schema } from "effect"
import * as Bank from "../../src/instructions/Bank.ts"
import * as Checkers from "../../src/instructions/Checkers.ts"
import { isCopy, isFiller } from "../../src/instructions/Filler.ts"
import * as Stock from "../../src/instructions/Stock.ts"

const checkers = await Effect.runPromise(Checkers.load)
const Most = Schema.Literals([1, 2, 3, 6])
const draw = (most: number, index: number) => Bank.draw(checkers, most)(SeededRandom.seeded(7, index))
const unmet = ({ constraints }: Bank.Task, text: string) =>
  constraints.filter((constraint) => !constraint.isMet(text)).map(({ name }) => name)

describe("a generated prompt", () => {
  it.effect.prop(
    "can be met: its sample answer meets every constraint",
    [Most, Schema.Natural],
    ([most, index]) =>
      Effect.sync(() => {
        const task = draw(most, index)
        assert.deepStrictEqual(unmet(task, task.sample), [], `${task.prompt}\n>>> ${task.sample}`)
        assert.isFalse(isFiller(task.sample) || isCopy(task.sample, task), task.sample)
      }),
    { arbitrary: { runs: 1_000 } }
  )

  it.prop("says each of its constraints", [Most, Schema.Natural], ([most, index]) => {
    const { constraints, prompt } = draw(most, index)
    for (const { instruction } of constraints) assert.include(prompt, instruction)
    assert.isAtMost(constraints.length, most + 1)
    assert.strictEqual(new Set(constraints.map(({ name }) => name)).size, constraints.length)
  })

  it.prop("is not met by next to nothing", [Most, Schema.Natural], ([most, index]) => {
    const task = draw(most, index)
    const isChoice = task.constraints.some(({ name }) => name === "validate_choice")
    if (isChoice) return
    for (const text of ["ok", "{}", '"a"', "a * * * b", "a\n******\nb", "- a\n- b", "<<a>>"]) {
      assert.isNotEmpty(unmet(task, text), `${task.prompt}\n>>> ${text}`)
    }
  })

  it("asks for every constraint there is", () => {
    const names = new Set(
      Array.from({ length: 3_000 }, (_, index) => draw(3, index))
        .flatMap((one) => one.constraints)
        .map(({ name }) => name)
    )
    assert.sameMembers(Array.from(names), Array.from(checkers.keys()))
  })
})

describe("the stock of words", () => {
  const texts = [...Stock.sentences, ...Stock.ends, ...Stock.keywords, ...Stock.firstWords]

  it("has no comma, rare letter, avoided word or word in capitals where none is wanted", () => {
    for (const text of texts) {
      assert.notMatch(text, /[,jqxzJQXZ]|\b[A-Z]{2,}\b/)
      for (const word of Stock.avoided) assert.notInclude(text.toLowerCase(), word)
    }
  })

  it("has each keyword in none of its sentences", () => {
    for (const text of [...Stock.sentences, ...Stock.ends]) {
      for (const word of Stock.keywords) assert.notInclude(text.toLowerCase(), word)
    }
  })
})

describe("isFiller", () => {
  const prose =
    "The old harbour wakes slowly. Fishermen carry nets to the boats while gulls wait on the wall, and somewhere a radio plays a song that nobody knows. By eight the first ferry has left for the islands, and the smell of coffee drifts from the only open door in the street."
  const cases: ReadonlyArray<readonly [what: string, text: string, expected: boolean]> = [
    ["prose", prose, false],
    ["long prose", prose.repeat(5), false],
    ["a short answer", "yes yes yes", false],
    ["one word over and over", "word ".repeat(60), true],
    ["three words over and over", "one two three ".repeat(30), true],
    ["letters", "a b c d e f g h i j k l m n o p", true],
    ["letters with full stops", "a. b. c. d. e. f. g. h. i. j. k. l.", true],
    ["numbers", Array.from({ length: 60 }, (_, index) => index).join(" "), true],
    ["prose that ends in filler", `${prose} ${prose} ${"word ".repeat(120)}`, true],
    ["another script", "Утром в гавани ещё тихо, лодки ждут ветра, а старый рыбак кормит чаек хлебом.", false]
  ]
  for (const [what, text, expected] of cases) {
    it(`${expected ? "is" : "is not"} ${what}`, () => {
      assert.strictEqual(isFiller(text), expected)
    })
  }
})

describe("isCopy", () => {
  const constraint = { name: "validate_no_commas", instruction: "Do not use any commas.", isMet: () => true }
  const task = { prompt: "Describe a harbour.\n\n- Do not use any commas.", constraints: [constraint] }

  it("is what has the prompt, or a constraint as it says it", () => {
    assert.isTrue(isCopy(`Sure!  ${task.prompt} Done.`, task))
    assert.isTrue(isCopy("DO NOT USE\nANY COMMAS.", task))
    assert.isFalse(isCopy("Describe a harbour. It has boats.", task))
    assert.isFalse(isCopy("", task))
  })

  it("is not what was asked to repeat the prompt", () => {
    const repeat = { ...constraint, name: "validate_repeat_prompt" }
    assert.isFalse(isCopy(task.prompt, { ...task, constraints: [repeat] }))
  })
})
