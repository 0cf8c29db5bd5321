import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { MathAnswer, MathVerifier } from "@atropos/envs"
import * as Waits from "../../../core/test/base/Waits.ts"
import hostile from "../fixtures/verify/hostile.json" with { type: "json" }

// A deadline that no machine is too slow for.
layer(MathVerifier.layer({ workers: 1, deadline: "1 hour" }), { excludeTestServices: true })("MathVerifier", (it) => {
  it.effect("compares plain numbers without a worker", () =>
    Effect.gen(function* () {
      const verifier = yield* MathVerifier.MathVerifier
      const before = yield* verifier.counts
      assert.isTrue(yield* verifier.equivalent("18", "18.0"))
      assert.isTrue(yield* verifier.equivalent("(1, \\frac{1}{2})", "(1, 0.5)"))
      assert.isFalse(yield* verifier.equivalent("18", "19"))
      const after = yield* verifier.counts
      assert.strictEqual(after.compared - before.compared, 3)
      assert.strictEqual(after.inWorker, before.inWorker)
    })
  )

  it.effect("compares formulas in a worker", () =>
    Effect.gen(function* () {
      const verifier = yield* MathVerifier.MathVerifier
      assert.isTrue(yield* verifier.equivalent("(x+1)^2", "x^2 + 2x + 1"))
      assert.isFalse(yield* verifier.equivalent("(x+1)^2", "x^2 + 1"))
      assert.isAbove((yield* verifier.counts).inWorker, 0)
    })
  )

  it.effect("takes boxes of labelled parts as one answer, in their order", () =>
    Effect.gen(function* () {
      const verifier = yield* MathVerifier.MathVerifier
      const cases: ReadonlyArray<readonly [reference: string, completion: string, isRight: boolean]> = [
        ["1, 2", "(a) \\boxed{1} (b) \\boxed{2}", true],
        ["$1, 2$", "(a) $\\boxed{1}$\n(b) $\\boxed{2}$", true],
        ["1; 2; 3", "**(i)** \\boxed{1}, **(ii)** \\boxed{2}, and **(iii)** \\boxed{3}", true],
        ["1, 2", "Part (a): \\boxed{1}. Part (b): \\boxed{2}.", true],
        ["\\frac{1}{2}, x + 1", "1) \\boxed{0.5} 2) \\boxed{1 + x}", true],
        ["3 m, 4 s", "(a) \\boxed{3 \\text{ m}} (b) \\boxed{4 \\text{ s}}", true],
        ["(a) $\\boxed{1}$ (b) $\\boxed{2}$", "\\boxed{1, 2}", true],
        ["1, 2", "(a) \\boxed{2} (b) \\boxed{1}", false],
        ["1, 2", "(b) \\boxed{1} (a) \\boxed{2}", false],
        ["1, 2", "(a) \\boxed{1} (b) \\boxed{3}", false],
        ["1, 2", "(a) \\boxed{1} (b) \\boxed{2} (c) \\boxed{3}", false],
        ["2, 3", "(a) \\boxed{1} (b) \\boxed{2} (c) \\boxed{3}", false],
        ["1, 2", "(a) is not \\boxed{1} (b) \\boxed{2}", false],
        ["1, 2", "(a) \\boxed{1} (b) \\boxed{2}. No, that is wrong.", false],
        ["3 m, 4 s", "(a) \\boxed{3 \\text{ s}} (b) \\boxed{4 \\text{ m}}", false],
        ["(1, 2)", "(a) \\boxed{1} (b) \\boxed{2}", false],
        // Of a reference with one value, the last part is the answer, as of any boxes.
        ["2", "(a) \\boxed{1} (b) \\boxed{2}", true],
        ["1,000", "(a) \\boxed{5} (b) \\boxed{1000}", true],
        ["1", "(a) \\boxed{1} (b) \\boxed{2}", false]
      ]
      for (const [reference, completion, isRight] of cases) {
        assert.strictEqual(yield* verifier.grade(reference, completion), isRight, `${reference}: ${completion}`)
      }
      // A reference is right by itself, as claims have it.
      const [solution] = cases[6]!
      assert.isTrue(yield* verifier.grade(solution, `\\boxed{${MathAnswer.extractReference(solution)}}`))
    })
  )

  it.effect("keeps units, which no conversion joins, and words that differ between countries", () =>
    Effect.gen(function* () {
      const verifier = yield* MathVerifier.MathVerifier
      for (const [reference, completion] of [
        ["3 m", "\\boxed{300 \\text{ cm}}"],
        ["3 m", "\\boxed{300}"],
        ["3 m", "\\boxed{3 \\text{ cm}}"],
        ["2 hours", "\\boxed{120 \\text{ minutes}}"],
        ["3000", "\\boxed{3 mil}"],
        ["3", "\\boxed{3 mil}"],
        ["3", "\\boxed{3 mille}"]
      ] as const) {
        assert.isFalse(yield* verifier.grade(reference, completion), `${reference}: ${completion}`)
      }
    })
  )

  it.effect("grades completions against reference solutions", () =>
    Effect.gen(function* () {
      const verifier = yield* MathVerifier.MathVerifier
      assert.isTrue(yield* verifier.grade("9 + 9 = 18\n#### 18", "<think>\\boxed{3}</think> It is \\boxed{18}"))
      assert.isFalse(yield* verifier.grade("#### 18", "It is \\boxed{17}"))
      assert.isFalse(yield* verifier.grade("#### 18", "It may be 18"))
      assert.isTrue(yield* verifier.grade("#### 18", "It may be 18", { unmarked: "number" }))
      assert.isFalse(yield* verifier.grade("3", [1, 2, 3, 4, 5, 6, 7].map((n) => `\\boxed{${n}}`).join(" ")))
    })
  )
})

describe("MathVerifier with its usual deadline", () => {
  it.live("calls hostile answers not equal, and goes on", () =>
    Effect.gen(function* () {
      const verifier = yield* MathVerifier.MathVerifier
      const repeated = [
        "|".repeat(200),
        "(".repeat(1_000),
        "\\frac{1}{".repeat(200),
        "9".repeat(1_999),
        "\\sqrt{".repeat(300),
        "a,".repeat(900)
      ]
      for (const answer of [...Object.values(hostile).flat(), ...repeated]) {
        assert.isFalse(yield* verifier.equivalent("x + 1", answer), answer)
      }
      yield* Waits.until("two equal formulas", verifier.equivalent("2x", "x + x"), (isEqual) => isEqual)
    }).pipe(Effect.provide(MathVerifier.layer({ workers: 1 })))
  )
})

describe("MathVerifier with a deadline that cannot be met", () => {
  it.live("calls the answer not equal, counts it and starts another worker", () =>
    Effect.gen(function* () {
      const verifier = yield* MathVerifier.MathVerifier
      const slow = "\\sum_{a=1}^{300}\\sum_{b=1}^{300} \\sin(a)\\cos(b)"
      assert.isFalse(yield* verifier.equivalent("x", slow))
      assert.isFalse(yield* verifier.equivalent("y", slow))
      assert.deepStrictEqual(yield* verifier.counts, { compared: 2, inWorker: 2, timedOut: 2, crashed: 0 })
    }).pipe(Effect.provide(MathVerifier.layer({ workers: 1, deadline: "1 millis" })))
  )

  it.live("serves many comparisons at once", () =>
    Effect.gen(function* () {
      const verifier = yield* MathVerifier.MathVerifier
      const verdicts = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, i) => i),
        (i) => verifier.equivalent(`x + ${i}`, `${i % 2 === 0 ? i : i + 1} + x`),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        verdicts,
        verdicts.map((_, i) => i % 2 === 0)
      )
    }).pipe(Effect.provide(MathVerifier.layer({ workers: 2, deadline: "1 hour" })))
  )
})
