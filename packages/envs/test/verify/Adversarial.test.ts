/**
 * Answers that were written to fool a verifier, by kind, each with the verdict it deserves
 * (fixtures/verify/adversarial.json).
 */
import { assert, describe, it } from "@effect/vitest"
import { MathAnswer } from "@atropos/envs"
import * as Latex from "../../src/verify/math/Latex.ts"
import adversarial from "../fixtures/verify/adversarial.json" with { type: "json" }
import solutions from "../fixtures/verify/solutions.json" with { type: "json" }

const engine = await Latex.load()
const readings = new Map<string, ReturnType<Latex.Reader>>()

/** Each leaf goes through the engine once, though many pairs have it. */
const read: Latex.Reader = (latex) => {
  if (!readings.has(latex)) readings.set(latex, engine(latex))
  return readings.get(latex)
}

const isAccepted = (gold: string, completion: string): boolean => {
  const answer = MathAnswer.extract(completion, MathAnswer.accuracyOptions)
  return answer !== undefined && MathAnswer.equivalent(gold, answer, read)
}

/** Gold answer and completion. */
type Case = readonly [gold: string, completion: string]

const kinds = Object.entries(adversarial).map(([kind, { accept, reject }]: [string, Record<string, unknown>]) => ({
  kind,
  // The arrays of JSON have no fixed length for the compiler.
  right: (accept ?? []) as ReadonlyArray<Case>,
  wrong: (reject ?? []) as ReadonlyArray<Case>
}))

/** Share of right answers that may be refused. */
const mostRefused = 0.01

describe("adversarial answers", () => {
  for (const { kind, right, wrong } of kinds) {
    it(`${kind}: none of ${wrong.length} wrong ones is accepted, and of ${right.length} right ones hardly any refused`, () => {
      assert.deepStrictEqual(
        wrong.filter(([gold, completion]) => isAccepted(gold, completion)),
        []
      )
      const refused = right.filter(([gold, completion]) => !isAccepted(gold, completion))
      assert.isAtMost(refused.length, right.length * mostRefused, JSON.stringify(refused))
    })
  }

  it("are many, of many kinds", () => {
    assert.isAtLeast(kinds.length, 15)
    assert.isAtLeast(
      kinds.reduce((sum, { wrong }) => sum + wrong.length, 0),
      600
    )
    assert.isAtLeast(
      kinds.reduce((sum, { right }) => sum + right.length, 0),
      300
    )
  })

  it("that are numbers are no two numbers", () => {
    const numbers = [
      "2",
      "3",
      "5",
      "6",
      "7",
      "8",
      "10",
      "11",
      "12",
      "23",
      "30",
      "42",
      "56",
      "100",
      "314",
      "3.14",
      "1000"
    ]
    const completions = kinds.flatMap(({ right, wrong }) => [...right, ...wrong]).map(([, said]) => said)
    // The verdict depends on nothing else of a completion: many give the same answer.
    const answers = new Set(completions.map((said) => MathAnswer.extract(said, MathAnswer.accuracyOptions)))
    assert.isAbove(answers.size, 300)
    const twoFaced = Array.from(answers, (answer = "") => ({
      answer,
      golds: numbers.filter((gold) => MathAnswer.equivalent(gold, answer, read))
    })).filter(({ golds }) => golds.length > 1)
    assert.deepStrictEqual(twoFaced, [])
  })

  it("get the same verdict at once as in a worker, wherever they get one at once", () => {
    const differing = kinds
      .flatMap(({ right, wrong }) => [...right, ...wrong])
      .filter(([gold, completion]) => {
        const answer = MathAnswer.extract(completion, MathAnswer.accuracyOptions)
        const verdict = answer === undefined ? undefined : MathAnswer.decide(gold, answer)
        return verdict !== undefined && verdict !== isAccepted(gold, completion)
      })
    assert.deepStrictEqual(differing, [])
  })
})

describe("solutions of word problems", () => {
  for (const { gold, isRight, said } of solutions.solutions) {
    it(`keep their verdict whatever is said after the box: ${gold}`, () => {
      assert.strictEqual(isAccepted(gold, said), isRight)
      assert.isAtLeast(solutions.sentences.length, 20)
      for (const sentence of solutions.sentences) {
        for (const between of [" ", ". ", "\n\n", ".\n"]) {
          assert.strictEqual(isAccepted(gold, said + between + sentence), isRight, sentence)
        }
      }
      assert.strictEqual(isAccepted(gold, [said, ...solutions.sentences].join(" ")), isRight)
    })
  }
})
