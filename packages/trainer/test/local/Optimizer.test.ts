import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Optimizer from "../../src/local/Optimizer.ts"
import * as OptimizerThread from "../../src/local/OptimizerThread.ts"
import golden from "../fixtures/adamw.json" with { type: "json" }

const close = (found: Float32Array, expected: ReadonlyArray<number>, tolerance: number) => {
  assert.strictEqual(found.length, expected.length)
  expected.forEach((value, index) => {
    assert.isBelow(Math.abs(found[index]! - value), tolerance * Math.max(1, Math.abs(value)), `element ${index}`)
  })
}

const hyperparametersOf = ({ settings }: (typeof golden.cases)[number]): Optimizer.Hyperparameters => ({
  beta1: settings.beta1,
  beta2: settings.beta2,
  epsilon: settings.epsilon,
  weightDecay: settings.weight_decay
})

describe("Optimizer", () => {
  for (const [index, one] of golden.cases.entries()) {
    it(`makes the steps of PyTorch's AdamW with clipping (case ${index})`, () => {
      const parameters = Float32Array.from(one.initial)
      const layout = Optimizer.spans(golden.layout)
      let state = Optimizer.init(parameters.length)
      for (const step of one.steps) {
        const gradient = Float32Array.from(step.gradient)
        const norm = Optimizer.norm(gradient)
        assert.closeTo(norm, step.norm, 1e-6 * step.norm)
        state = Optimizer.update(parameters, gradient, state, layout, {
          ...hyperparametersOf(one),
          learningRate: one.settings.learning_rate,
          factor: Optimizer.clipFactor(norm, one.settings.max_norm)
        })
        close(parameters, step.parameters, 1e-6)
      }
      assert.strictEqual(state.updates, one.steps.length)
    })
  }

  it("decays matrices and leaves vectors alone", () => {
    const spans = Optimizer.spans(golden.layout)
    assert.deepStrictEqual(spans, [
      { offset: 0, size: 12, decays: true },
      { offset: 12, size: 7, decays: false },
      { offset: 19, size: 6, decays: true }
    ])
    const parameters = new Float32Array(25).fill(1)
    Optimizer.update(parameters, new Float32Array(25), Optimizer.init(25), spans, {
      beta1: 0.9,
      beta2: 0.999,
      epsilon: 1e-8,
      weightDecay: 0.5,
      learningRate: 0.5,
      factor: 1
    })
    assert.deepStrictEqual([...parameters], [...Array(12).fill(0.75), ...Array(7).fill(1), ...Array(6).fill(0.75)])
  })

  const Values = Schema.NonEmptyArray(Schema.Finite.check(Schema.isBetween({ minimum: -1e6, maximum: 1e6 })))
  const Limit = Schema.Finite.check(Schema.isBetween({ minimum: 1e-3, maximum: 1e3 }))

  it.prop(
    "leaves no gradient longer than the limit, and short ones as they are",
    [Values, Limit],
    ([values, limit]) => {
      const norm = Optimizer.norm(Float32Array.from(values))
      const factor = Optimizer.clipFactor(norm, limit)
      assert.isAtMost(norm * factor, limit * (1 + 1e-9))
      if (norm <= limit - 1e-6) assert.strictEqual(factor, 1)
    }
  )

  it("finds that a gradient is not finite", () => {
    assert.isFalse(Number.isFinite(Optimizer.norm(Float32Array.of(1, Number.NaN))))
    assert.isFalse(Number.isFinite(Optimizer.norm(Float32Array.of(1, Number.NEGATIVE_INFINITY))))
    assert.isTrue(Number.isFinite(Optimizer.norm(new Float32Array(1000).fill(3e38))))
  })
})

describe("OptimizerThread", () => {
  const one = golden.cases[0]!
  const options = { ...hyperparametersOf(one), layout: golden.layout, maxNorm: one.settings.max_norm }

  it.live("makes the same steps in its thread, from gradients that come in parts", () =>
    Effect.gen(function* () {
      const here = Float32Array.from(one.initial)
      const thread = yield* OptimizerThread.make(OptimizerThread.fresh(here), options)
      let state = Optimizer.init(here.length)
      for (const { gradient } of one.steps) {
        const [first, second] = [gradient.map((g) => g * 0.75), gradient.map((g) => g * 0.25)].map((part) =>
          Float32Array.from(part)
        )
        const sum = first!.map((g, index) => g + second![index]!)
        const norm = Optimizer.norm(sum)
        state = Optimizer.update(here, sum, state, Optimizer.spans(golden.layout), {
          ...options,
          learningRate: 1e-3,
          factor: Optimizer.clipFactor(norm, options.maxNorm)
        })
        yield* thread.accumulate(first!)
        yield* thread.accumulate(second!)
        assert.deepStrictEqual(yield* thread.update(1e-3), { isApplied: true, norm })
      }
      const { firstMoment, parameters, secondMoment, updates } = yield* thread.snapshot
      assert.deepStrictEqual(parameters, here)
      assert.deepStrictEqual(
        { firstMoment, secondMoment, updates },
        { firstMoment: state.firstMoment, secondMoment: state.secondMoment, updates: state.updates }
      )
      assert.deepStrictEqual(yield* thread.parameters, here)
    })
  )

  it.live("goes on from a snapshot with the same bits", () =>
    Effect.gen(function* () {
      const run = Effect.fnUntraced(function* (from: OptimizerThread.Snapshot, steps: typeof one.steps) {
        const thread = yield* OptimizerThread.make(from, options)
        for (const { gradient } of steps) {
          yield* thread.accumulate(Float32Array.from(gradient))
          yield* thread.update(1e-3)
        }
        return yield* thread.snapshot
      }, Effect.scoped)
      const initial = () => OptimizerThread.fresh(Float32Array.from(one.initial))
      const whole = yield* run(initial(), one.steps)
      const half = yield* run(initial(), one.steps.slice(0, 3))
      assert.deepStrictEqual(yield* run(half, one.steps.slice(3)), whole)
    })
  )

  it.live("leaves parameters and moments alone when the gradient is not finite", () =>
    Effect.gen(function* () {
      const initial = Float32Array.from(one.initial)
      const thread = yield* OptimizerThread.make(OptimizerThread.fresh(initial), options)
      const before = yield* thread.snapshot
      yield* thread.accumulate(new Float32Array(initial.length).fill(Number.NaN))
      assert.isFalse((yield* thread.update(1e-3)).isApplied)
      assert.deepStrictEqual(yield* thread.snapshot, before)
      yield* thread.accumulate(new Float32Array(initial.length).fill(1))
      assert.isTrue((yield* thread.update(1e-3)).isApplied)
      assert.strictEqual((yield* thread.snapshot).updates, 1)
    })
  )

  it.live("fails by name at an update that overflows the parameters, and hands them to nobody", () =>
    Effect.gen(function* () {
      const size = one.initial.length
      // 1e30 is a number itself, but its square is none in single precision: no product of such weights is.
      for (const learningRate of [1e30, 1e300]) {
        const thread = yield* OptimizerThread.make(OptimizerThread.fresh(Float32Array.from(one.initial)), options)
        yield* thread.accumulate(new Float32Array(size).fill(1))
        const error = yield* Effect.flip(thread.update(learningRate))
        assert.strictEqual(error.reason, "nonFinite")
        assert.include(error.message, `lr ${learningRate}`)
        assert.include(error.message, "gradient norm 5")
        for (const later of [thread.parameters, thread.snapshot, thread.update(1e-3)]) {
          assert.deepStrictEqual((yield* Effect.flip<unknown, typeof error, never>(later)).message, error.message)
        }
      }
    })
  )

  it.live("forgets a gradient that is discarded", () =>
    Effect.gen(function* () {
      const initial = Float32Array.from(one.initial)
      const thread = yield* OptimizerThread.make(OptimizerThread.fresh(initial), options)
      yield* thread.accumulate(new Float32Array(initial.length).fill(7))
      yield* thread.discard
      yield* thread.accumulate(new Float32Array(initial.length).fill(1))
      assert.strictEqual((yield* thread.update(1e-3)).norm, Math.sqrt(initial.length))
    })
  )
})
