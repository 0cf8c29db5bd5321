import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { type Batch, Trajectory, WireGroup } from "@atropos/core"
import * as Health from "@atropos/core/health/Health"
import { Deferred, Effect, Fiber, FileSystem, Layer, References, Result, Stream } from "effect"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Lease } from "../../src/run/Leases.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import type * as LocalLearner from "../../src/local/LocalLearner.ts"
import type * as Trainer from "../../src/run/Trainer.ts"
import * as StepMetrics from "../../src/run/StepMetrics.ts"
import type { TrainableModel } from "../../src/model/TrainableModel.ts"
import { toyPolicy, vocabulary } from "../loss/ToyPolicy.ts"
import * as Toy from "./ToyTraining.ts"

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const batches = (from: number, to: number) =>
  Stream.fromIterable(Array.from({ length: to - from }, (_, i) => Toy.batch(from + i)))

const collect = (trainer: Trainer.Trainer, source: Stream.Stream<Batch.Batch>) =>
  Stream.runCollect(trainer.steps(source))

/** Leaves the lock as a process does that is killed while it holds it. */
const abandonedLock = (target: string) =>
  Effect.callback<void>((resume) => {
    const program = `
      new (require("node:sqlite").DatabaseSync)(process.argv[1]).exec("BEGIN IMMEDIATE")
      process.kill(process.pid, "SIGKILL")
    `
    spawn(process.execPath, ["-e", program, join(target, "lock.sqlite")]).once("exit", () => {
      assert.isTrue(existsSync(join(target, "lock.sqlite")))
      resume(Effect.void)
    })
  })

/** What was settled, in order. */
const settling = () => {
  const settled: Array<number> = []
  const settle = (handles: ReadonlyArray<Lease>) =>
    Effect.sync(() => void settled.push(...handles.map(({ step }) => step)))
  return { settled, settle }
}

const layerTest = Layer.mergeAll(
  SharedOrt.layer,
  NodeServices.layer,
  // Skipped steps and damaged folders are what is tested here.
  Layer.succeed(References.MinimumLogLevel, "None")
)

layer(layerTest, { excludeTestServices: true })("Trainer", (it) => {
  it.effect("learns to say what is rewarded", () =>
    Effect.gen(function* () {
      const right = Int32Array.of(1, 2, 7, 3, 9, 4)
      const wrong = [Int32Array.of(1, 2, 8, 3, 5, 4), Int32Array.of(1, 2, 7, 11, 9, 6), Int32Array.of(1, 2, 0, 0, 0, 0)]
      const tokens = [right, ...wrong]
      const group = {
        tokens,
        masks: tokens.map(({ length }) => Trajectory.maskFrom(2, length)),
        scores: Float64Array.of(1, 0, 0, 0)
      }
      const trainer = yield* Toy.trainer(
        Toy.settings(
          yield* folder,
          { trainingSteps: 200, lr: 0.05, checkpointInterval: 0, schedule: "linear" },
          {
            // Nothing is lost by a wrong answer, all is won by the right one.
            baseline: "none"
          }
        )
      )
      const source = Stream.fromIterable(Array.from({ length: 199 }, (_, step) => Toy.batch(step, [group])))
      // The last one only looks: nothing but the right answer, and an advantage.
      const last = Toy.batch(199, [{ tokens: [right], masks: [group.masks[0]!], scores: Float64Array.of(1) }])
      const metrics = yield* collect(trainer, Stream.concat(source, Stream.make(last)))
      assert.strictEqual(metrics.length, 200)
      // Four tokens out of 23 by chance: -3.1 each.
      assert.isBelow(metrics[0]!.logprobMean!, -1)
      assert.isAbove(metrics[199]!.logprobMean!, Math.log(0.9))
    })
  )

  it.effect("says what there is to know of a step, under the original's names where it has them", () =>
    Effect.gen(function* () {
      const trainer = yield* Toy.trainer(Toy.settings(yield* folder, { maxStaleness: 3 }))
      const constant = Toy.group(9, {
        scores: new Float64Array(4).fill(0.5),
        policyVersions: [null, 0, 0, 0],
        solved: [true, false, false, false]
      })
      const [metrics] = yield* collect(trainer, Stream.make(Toy.batch(0, [Toy.group(1), constant])))
      const scores = [...Toy.group(1).scores, 0.5, 0.5, 0.5, 0.5]
      const mean = scores.reduce((sum, score) => sum + score, 0) / 8
      assert.deepInclude(metrics, {
        step: 1,
        policyVersion: 1,
        batchId: "batch-0",
        skipped: null,
        lr: 0.02,
        sequences: 8,
        groups: 2,
        constantGroups: 1,
        versionUnknown: 1,
        staleDropped: 0,
        truncatedFraction: 0,
        // Of the group that says so.
        solvedFraction: 0.25
      })
      assert.closeTo(metrics!.rewardMean, mean, 1e-12)
      assert.closeTo(metrics!.rewardStd ** 2, scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / 8, 1e-12)
      assert.isTrue(metrics!.entropy! > 0 && metrics!.entropy! <= Math.log(vocabulary))
      assert.strictEqual(metrics!.ratioMean, 1)
      const values = StepMetrics.values(metrics!)
      for (const name of ["train/loss", "train/grad_norm", "grpo/clipped_fraction", "alignment/diff_mean"]) {
        assert.isNumber(values[name], name)
      }
      assert.isTrue(Object.values(values).every(Number.isFinite))
    })
  )

  it.effect("goes on over steps that are missing", () =>
    Effect.gen(function* () {
      const trainer = yield* Toy.trainer(Toy.settings(yield* folder, { trainingSteps: 3 }))
      const metrics = yield* collect(trainer, Stream.make(Toy.batch(0), Toy.batch(2), Toy.batch(5)))
      assert.deepStrictEqual(
        metrics.map(({ batchId, step }) => [step, batchId]),
        [
          [1, "batch-0"],
          [2, "batch-2"],
          [3, "batch-5"]
        ]
      )
    })
  )

  it.effect("stops before it learns from ids of another tokenizer, and names both", () =>
    Effect.gen(function* () {
      const tokenizer = { name: "toy", digest: "0123456789abcdef" }
      const trainer = yield* Toy.trainer(Toy.settings(yield* folder), { model: { ...Toy.model, tokenizer } })
      const other = { name: "bytes", digest: "fedcba9876543210" }
      const [mine, theirs] = [tokenizer, other].map((one) => Toy.group(1, { groupOverrides: { tokenizer: one } }))
      const source = Stream.make(Toy.batch(0, [mine!]), Toy.batch(1, [mine!, theirs!]))
      const steps: Array<number> = []
      const noted = Stream.tap(trainer.steps(source), ({ step }) => Effect.sync(() => steps.push(step)))
      const error = yield* Effect.flip(Stream.runDrain(noted))
      assert.deepStrictEqual(steps, [1])
      assert.match(error.message, /tokenizer bytes, but the model toy uses toy/)
    })
  )

  it.effect("counts what the token limit cut off, whether or not it is trained on", () =>
    Effect.gen(function* () {
      const cut = [{ finish_reason: "length" }, { truncated: true }, {}, { finish_reason: "stop" }]
      const groups = [Toy.group(1, { overrides: cut }), Toy.group(2)]
      const fractions = Effect.fnUntraced(function* (maskTruncated: boolean) {
        const trainer = yield* Toy.trainer(Toy.settings(yield* folder, {}, { maskTruncated }))
        const [metrics] = yield* collect(trainer, Stream.make(Toy.batch(0, groups)))
        const values = StepMetrics.values(metrics!)
        return [values["batch/truncated_fraction"], values["batch/truncated_masked_fraction"]]
      })
      assert.deepStrictEqual(yield* fractions(false), [2 / 8, 0])
      assert.deepStrictEqual(yield* fractions(true), [2 / 8, 2 / 8])
    })
  )

  it.effect("learns the same from a batch however it is cut into micro-batches", () =>
    Effect.gen(function* () {
      const run = Effect.fnUntraced(function* (tokenBudget: number) {
        const trainer = yield* Toy.trainer(Toy.settings(yield* folder, { tokenBudget }))
        const metrics = yield* collect(trainer, batches(0, 3))
        return { metrics, parameters: yield* trainer.parameters }
      })
      const [small, large] = [yield* run(16), yield* run(1024)]
      assert.isAbove(small.metrics[0]!.microBatches, large.metrics[0]!.microBatches)
      assert.closeTo(small.metrics[2]!.loss, large.metrics[2]!.loss, 1e-5)
      small.parameters.forEach((value, i) => assert.closeTo(value, large.parameters[i]!, 1e-4))
    })
  )

  it.effect("measures the divergence from where it began, and is held back by it", () =>
    Effect.gen(function* () {
      const run = Effect.fnUntraced(function* (klCoef: number) {
        const trainer = yield* Toy.trainer(Toy.settings(yield* folder, {}, { klCoef }))
        const again = Array.from({ length: 5 }, (_, i) => ({ ...Toy.batch(0), id: `again-${i}` }))
        return yield* collect(trainer, Stream.fromIterable(again))
      })
      const [held, free] = [yield* run(10), yield* run(1e-6)]
      assert.strictEqual(held[0]!.kl, 0)
      assert.isAbove(held[1]!.kl!, 0)
      assert.isBelow(held[4]!.kl!, free[4]!.kl!)
    })
  )

  it.effect("hands on the weights before the first step and after every update", () =>
    Effect.gen(function* () {
      const versions: Array<number> = []
      const sums: Array<number> = []
      const publish = ({ parameters, version }: LocalLearner.Weights) =>
        Effect.sync(() => {
          versions.push(version)
          sums.push(parameters.reduce((sum, value) => sum + value, 0))
        })
      const trainer = yield* Toy.trainer(Toy.settings(yield* folder), { publish })
      yield* collect(trainer, batches(0, 3))
      assert.deepStrictEqual(versions, [0, 1, 2, 3])
      assert.strictEqual(new Set(sums).size, 4)
    })
  )

  it.effect("skips a step whose loss is not a number and leaves the weights as they were", () =>
    Effect.gen(function* () {
      const trainer = yield* Toy.trainer(Toy.settings(yield* folder, { maxNonFinite: 2 }))
      const before = yield* trainer.parameters
      const bad = yield* collect(trainer, Stream.make(Toy.overflowing(0)))
      assert.deepInclude(bad[0], { step: 1, policyVersion: 0, skipped: "nonFinite" })
      // What was no number is told as that, not left out.
      const told = StepMetrics.values(bad[0]!)
      assert.isNaN(told["train/loss"])
      assert.isNaN(told["train/grad_norm"])
      assert.deepStrictEqual([told["train/skipped"], told["train/skipped_not_finite"]], [1, 1])
      assert.deepStrictEqual(yield* trainer.parameters, before)
      // A good one in between: not two in a row.
      const rest = yield* collect(trainer, Stream.make(Toy.batch(1), Toy.overflowing(2), Toy.batch(3)))
      assert.deepStrictEqual(
        rest.map(({ policyVersion, skipped }) => [policyVersion, skipped]),
        [
          [1, null],
          [1, "nonFinite"],
          [2, null]
        ]
      )
      assert.isTrue((yield* trainer.parameters).every(Number.isFinite))
    })
  )

  it.effect("ends with the step that breaks a rule of stop_on, which is saved", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const settings = Toy.settings(target, { stopOn: " not_finite,collapse", checkpointInterval: 10 })
      const steps: Array<number> = []
      const error = yield* Effect.scoped(
        Effect.gen(function* () {
          const trainer = yield* Toy.trainer(settings)
          const all = Stream.make(Toy.batch(0), Toy.overflowing(1), Toy.batch(2))
          return yield* Effect.flip(
            Stream.runForEach(trainer.steps(all), ({ step }) => Effect.sync(() => steps.push(step)))
          )
        })
      )
      assert.deepStrictEqual([steps, error.reason], [[1, 2], "stopped"])
      assert.include(error.message, "NaN or infinite loss (not_finite): Loss or gradient was NaN or infinite at step 2")
      const next = yield* Toy.trainer(Toy.settings(target, { stopOn: "" }))
      assert.strictEqual(yield* next.step, 2)
      assert.throws(() => Toy.settings(target, { stopOn: "collaps" }), "collaps is not a health rule")
    })
  )

  it.effect("ends by what environments of its process record, and says where there are none", () =>
    Effect.gen(function* () {
      const settings = Toy.settings(yield* folder, { stopOn: "stuck", checkpointInterval: 10 })
      const health = Health.recorder()
      for (let row = 1; row <= 20; row++) {
        health.see("maze_0", row, { "train/percent_identical": 1, "train/solved_fraction": 0 })
      }
      const trainer = yield* Toy.trainer(settings, { health })
      const ended = yield* Effect.flip(Stream.runDrain(trainer.steps(Stream.make(Toy.batch(0), Toy.batch(1)))))
      assert.include(ended.message, "stopped by stop_on. Environment stuck (stuck): 100% of the groups of maze_0")
      assert.strictEqual(yield* trainer.step, 1)
      const alone = yield* Effect.flip(Toy.trainer(Toy.settings(yield* folder, { stopOn: "collapse,stuck" })))
      assert.strictEqual(alone.reason, "settings")
      assert.include(alone.message, "stop_on stuck needs metrics of environments")
    })
  )

  it.effect("stops after several such steps in a row, with the batch on disk", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const fs = yield* FileSystem.FileSystem
      const { settle, settled } = settling()
      const trainer = yield* Toy.trainer(Toy.settings(target, { maxNonFinite: 2, checkpointInterval: 10 }))
      const source = Stream.make(Toy.batch(0), Toy.overflowing(1), Toy.overflowing(2), Toy.batch(3))
      const error = yield* Effect.flip(Stream.runDrain(trainer.steps(source, { settle })))
      assert.strictEqual(error.reason, "nonFinite")
      const [, path = ""] = /is in (.*?)\. Lower/.exec(error.message) ?? []
      const [line = ""] = (yield* fs.readFileString(path)).split("\n")
      const saved = Result.getOrThrow(WireGroup.decode(JSON.parse(line)))
      assert.deepStrictEqual(saved.tokens, Toy.overflowing(2).groups[0]!.tokens)
      // Nothing is settled: the next run gets them all again.
      assert.deepStrictEqual(settled, [])
    })
  )

  it.effect("stops at once where an update overflows the weights, and the last checkpoint stays", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const fs = yield* FileSystem.FileSystem
      const calm = yield* Effect.scoped(
        Effect.gen(function* () {
          const trainer = yield* Toy.trainer(Toy.settings(target, { checkpointInterval: 1 }))
          yield* collect(trainer, Stream.make(Toy.batch(0)))
          return yield* trainer.parameters
        })
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          const trainer = yield* Toy.trainer(Toy.settings(target, { checkpointInterval: 1, lr: 1e30, warmupSteps: 0 }))
          const error = yield* Effect.flip(Stream.runDrain(trainer.steps(Stream.make(Toy.batch(1), Toy.batch(2)))))
          assert.strictEqual(error.reason, "nonFinite")
          for (const part of ["step 2", "lr 1e+30", "gradient norm", "Lower lr"]) assert.include(error.message, part)
        })
      )
      assert.deepStrictEqual(
        (yield* fs.readDirectory(target)).filter((name) => name.startsWith("step_")),
        ["step_1"]
      )
      const again = yield* Toy.trainer(Toy.settings(target))
      assert.deepStrictEqual(yield* again.parameters, calm)
    })
  )

  it.effect("skips a batch that has nothing to train on, without calling it an error", () =>
    Effect.gen(function* () {
      const trainer = yield* Toy.trainer(Toy.settings(yield* folder, { maxNonFinite: 1 }))
      const masks = Toy.group(1).tokens.map((sequence) => new Uint8Array(sequence.length))
      const [metrics] = yield* collect(trainer, Stream.make(Toy.batch(0, [Toy.group(1, { masks })])))
      assert.deepInclude(metrics, { skipped: "nothingToTrain", loss: 0, gradNorm: 0, policyVersion: 0, step: 1 })
    })
  )

  it.effect("drops sequences that are too old for the weights they would train", () =>
    Effect.gen(function* () {
      const trainer = yield* Toy.trainer(Toy.settings(yield* folder, { maxStaleness: 1 }))
      const source = Stream.fromIterable(
        [0, 1, 2].map((step) => Toy.batch(step, [Toy.group(step, { policyVersions: [0, 1, 1, 1] })]))
      )
      const metrics = yield* collect(trainer, source)
      assert.deepStrictEqual(
        metrics.map(({ staleDropped, stalenessMax }) => [stalenessMax, staleDropped]),
        [
          [0, 0],
          [1, 0],
          [2, 1]
        ]
      )
    })
  )

  it.effect("goes on from a checkpoint with the same bits as without a stop", () =>
    Effect.gen(function* () {
      const [whole, halves] = [yield* folder, yield* folder]
      const uninterrupted = yield* Toy.trainer(Toy.settings(whole))
      const expected = yield* collect(uninterrupted, batches(0, 6))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const first = yield* Toy.trainer(Toy.settings(halves))
          yield* Stream.runDrain(Stream.take(first.steps(batches(0, 6)), 3))
        })
      )
      const second = yield* Toy.trainer(Toy.settings(halves))
      assert.strictEqual(yield* second.step, 3)
      const rest = yield* collect(second, batches(3, 6))
      assert.deepStrictEqual(yield* second.parameters, yield* uninterrupted.parameters)
      assert.deepStrictEqual(
        rest.map(({ gradNorm, loss, step }) => ({ gradNorm, loss, step })),
        expected.slice(3).map(({ gradNorm, loss, step }) => ({ gradNorm, loss, step }))
      )
    })
  )

  it.effect("measures a step once: the same figures are recorded and emitted, saved or not", () =>
    Effect.gen(function* () {
      const recorded: Array<StepMetrics.StepMetrics> = []
      const record = (metrics: StepMetrics.StepMetrics) => Effect.sync(() => void recorded.push(metrics))
      const trainer = yield* Toy.trainer(Toy.settings(yield* folder, { checkpointInterval: 2 }))
      const emitted = yield* Stream.runCollect(trainer.steps(batches(0, 4), { record }))
      assert.lengthOf(recorded, 4)
      assert.deepStrictEqual(recorded, [...emitted])
    })
  )

  it.effect("tells of every step that it saves, also of one interrupted behind its update, once each", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const told: Array<number> = []
      const record = ({ step }: StepMetrics.StepMetrics) => Effect.sync(() => void told.push(step))
      const isPublishing = yield* Deferred.make<void>()
      const publish = ({ version }: LocalLearner.Weights) =>
        version < 3 ? Effect.void : Effect.andThen(Deferred.succeed(isPublishing, undefined), Effect.never)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const first = yield* Toy.trainer(Toy.settings(target), { publish })
          const running = yield* Effect.forkChild(Stream.runDrain(first.steps(batches(0, 6), { record })))
          yield* Deferred.await(isPublishing)
          yield* Fiber.interrupt(running)
        })
      )
      assert.deepStrictEqual(told, [1, 2, 3])
      const second = yield* Toy.trainer(Toy.settings(target))
      assert.strictEqual(yield* second.step, 3)
      yield* Stream.runDrain(second.steps(batches(3, 6), { record }))
      assert.deepStrictEqual(told, [1, 2, 3, 4, 5, 6])
    })
  )

  it.effect(
    "tells of a step before the checkpoint that holds it counts, so that whoever kills it there loses nothing",
    () =>
      Effect.gen(function* () {
        const target = yield* folder
        const fs = yield* FileSystem.FileSystem
        const told: Array<string> = []
        const checkpoints = Effect.map(Effect.orDie(fs.readDirectory(target)), (names) =>
          names.filter((name) => name.startsWith("step_")).toSorted()
        )
        const noting = (what: string) => Effect.map(checkpoints, (names) => void told.push(`${what}: ${names.join()}`))
        const trainer = yield* Toy.trainer(Toy.settings(target, { checkpointInterval: 2, trainingSteps: 4 }))
        const metrics = yield* trainer
          .steps(batches(0, 4), { record: ({ step }) => noting(String(step)), flush: noting("flushed") })
          .pipe(Stream.runCollect)
        assert.deepStrictEqual(told, ["1: ", "2: ", "flushed: ", "3: step_2", "4: step_2", "flushed: step_2"])
        assert.isTrue(metrics.every(({ saveSeconds }, at) => (at % 2 === 1 ? saveSeconds > 0 : saveSeconds === 0)))
      })
  )

  it.effect("settles batches when a checkpoint holds them, and no earlier", () =>
    Effect.gen(function* () {
      const { settle, settled } = settling()
      const trainer = yield* Toy.trainer(Toy.settings(yield* folder, { checkpointInterval: 3, trainingSteps: 7 }))
      const seen = yield* trainer.steps(batches(0, 9), { settle }).pipe(
        Stream.map(() => settled.length),
        Stream.runCollect
      )
      // The last step is always in one.
      assert.deepStrictEqual(seen, [0, 0, 3, 3, 3, 6, 7])
      assert.deepStrictEqual(settled, [0, 1, 2, 3, 4, 5, 6])
    })
  )

  it.effect("does not train again on a batch that comes again", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const { settle, settled } = settling()
      const again = { ...Toy.batch(1), leaseToken: "newer", deliveries: 2 }
      const tokens: Array<string> = []
      const remember = (handles: ReadonlyArray<Lease>) => {
        tokens.push(...handles.map(({ leaseToken }) => leaseToken))
        return settle(handles)
      }
      const source = Stream.make(Toy.batch(0), Toy.batch(1), again, Toy.batch(2))
      const parameters = yield* Effect.scoped(
        Effect.gen(function* () {
          const trainer = yield* Toy.trainer(Toy.settings(target, { checkpointInterval: 3, trainingSteps: 3 }))
          assert.strictEqual((yield* Stream.runCollect(trainer.steps(source, { settle: remember }))).length, 3)
          return yield* trainer.parameters
        })
      )
      assert.deepStrictEqual(settled, [0, 1, 2])
      assert.deepStrictEqual(tokens, ["lease-0", "newer", "lease-2"])
      // The same to a successor, which knows from the checkpoint.
      const next = yield* Toy.trainer(Toy.settings(target, { trainingSteps: 4, checkpointInterval: 10 }))
      assert.deepStrictEqual(yield* Stream.runCollect(next.steps(Stream.make(again, Toy.batch(2)), { settle })), [])
      assert.deepStrictEqual(settled, [0, 1, 2, 1, 2])
      assert.deepStrictEqual(yield* next.parameters, parameters)
    })
  )

  it.effect("saves and settles when it is interrupted between steps", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const { settle, settled } = settling()
      const reached = yield* Deferred.make<void>()
      const source = Stream.concat(
        batches(0, 3),
        Stream.fromEffect(Effect.andThen(Deferred.succeed(reached, undefined), Effect.never))
      )
      const training = Effect.gen(function* () {
        const trainer = yield* Toy.trainer(Toy.settings(target, { checkpointInterval: 0 }))
        yield* Stream.runDrain(trainer.steps(source, { settle }))
      })
      const running = yield* Effect.forkChild(Effect.scoped(training))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(running)
      assert.deepStrictEqual(settled, [0, 1, 2])
      assert.strictEqual(yield* (yield* Toy.trainer(Toy.settings(target))).step, 3)
    })
  )

  it.effect("refuses a checkpoint of another model", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const refusal = (model: TrainableModel) =>
        Effect.flip(Effect.scoped(Toy.trainer(Toy.settings(target), { model })))
      yield* Effect.scoped(
        Effect.flatMap(Toy.trainer(Toy.settings(target)), (trainer) => collect(trainer, batches(0, 1)))
      )
      const named = yield* refusal({ ...Toy.model, name: "other" })
      assert.strictEqual(named.reason, "settings")
      assert.include(named.message, "contains a checkpoint of toy, not of other")
      const shaped = yield* refusal({ ...Toy.model, policy: toyPolicy("adapter") })
      assert.strictEqual(shaped.reason, "checkpoint")
      assert.include(shaped.message, "v.lora_A.weight is missing")
    })
  )

  it.effect("refuses a folder that another trainer is using, until that one is gone", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const refused = yield* Effect.scoped(
        Effect.gen(function* () {
          const first = yield* Toy.trainer(Toy.settings(target))
          const error = yield* Effect.flip(Toy.trainer(Toy.settings(target)))
          // The first one does not notice.
          assert.strictEqual((yield* collect(first, batches(0, 2))).length, 2)
          return error
        })
      )
      assert.strictEqual(refused.reason, "settings")
      assert.include(refused.message, `${target} is in use by a running process (id ${process.pid})`)
      assert.include(refused.message, "another save_path")
      assert.strictEqual(yield* (yield* Toy.trainer(Toy.settings(target))).step, 2)
    })
  )

  it.effect("takes over the folder of a trainer that was killed", () =>
    Effect.gen(function* () {
      const target = yield* folder
      yield* abandonedLock(target)
      assert.strictEqual(yield* (yield* Toy.trainer(Toy.settings(target))).step, 0)
    })
  )

  it.effect("refuses sequences longer than the model's positions before anything is trained", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const make = (seqLen: number) => Effect.scoped(Toy.trainer(Toy.settings(target, { seqLen })))
      const error = yield* Effect.flip(make(Toy.model.maxPositions + 1))
      assert.strictEqual(error.reason, "settings")
      assert.strictEqual(error.message, "seq_len 65 exceeds the 64 positions of toy: set seq_len to 64 or less")
      yield* make(Toy.model.maxPositions)
    })
  )

  it.effect("learns the same bits from a batch whose groups come in another order", () =>
    Effect.gen(function* () {
      const groups = [0, 1, 2, 3, 4].map((seed) => Toy.group(seed))
      const run = Effect.fnUntraced(function* (order: ReadonlyArray<number>) {
        const trainer = yield* Toy.trainer(Toy.settings(yield* folder))
        const source = Stream.make(
          Toy.batch(
            0,
            order.map((index) => groups[index]!)
          )
        )
        const [metrics] = yield* collect(trainer, source)
        const { gradNorm, loss, rewardMean, rewardStd } = metrics!
        return { parameters: yield* trainer.parameters, gradNorm, loss, rewardMean, rewardStd }
      })
      const expected = yield* run([0, 1, 2, 3, 4])
      for (const order of [
        [4, 3, 2, 1, 0],
        [2, 0, 4, 1, 3]
      ])
        assert.deepStrictEqual(yield* run(order), expected)
    })
  )

  it.effect("refuses settings of the loss that contradict each other", () =>
    Effect.gen(function* () {
      const given = Toy.settings(yield* folder, {}, { importanceSampling: "truncated", oldPolicy: "engine" })
      const error = yield* Effect.flip(Toy.trainer(given))
      assert.strictEqual(error.reason, "settings")
      assert.include(error.message, "importance sampling")
    })
  )
})
