import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Option, Path } from "effect"
import * as Checkpoints from "../../src/checkpoint/Checkpoints.ts"
import * as LeaseJournal from "../../src/checkpoint/LeaseJournal.ts"
import * as StateFile from "../../src/local/StateFile.ts"
import * as TrainerState from "../../src/checkpoint/TrainerState.ts"
import * as Samples from "./Samples.ts"

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const save = (target: string, step: number, keep?: number) =>
  Checkpoints.save(Samples.options(target, Samples.snapshotOf(step), keep), Samples.stateOf(step))

const { newest } = Samples

const stateOf = (step: number): TrainerState.TrainerState => ({
  ...Samples.stateOf(step),
  weights: { engine: "local", path: "trainer_state.safetensors" }
})

layer(NodeServices.layer, { excludeTestServices: true })("Checkpoints", (it) => {
  it.effect("gives back what was saved, to the bit", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const values = Float32Array.from({ length: Samples.layout.size }, (_, i) => Math.sin(i) * 10 ** ((i % 60) - 30))
      const snapshot = { ...Samples.snapshotOf(3), parameters: values }
      const path = yield* Checkpoints.save(Samples.options(target, snapshot), Samples.stateOf(3))
      const { ignored, newest: found } = yield* newest(target)
      assert.deepStrictEqual(found, { folder: path, state: stateOf(3), opened: snapshot })
      assert.deepStrictEqual(ignored, [])
    })
  )

  it.effect("reads the numbers of batches in a checkpoint of the first version as they count now", () =>
    Effect.gen(function* () {
      const { consumed, nextBatchStep, ...state } = stateOf(2)
      const old = {
        ...state,
        version: 1 as const,
        consumed: consumed.map(({ id, step }) => ({ id, step: step - 1 })),
        nextBatchStep: nextBatchStep! - 1
      }
      const { weights: _, ...written } = JSON.parse(yield* TrainerState.encode(old))
      assert.deepStrictEqual(yield* TrainerState.decode(JSON.stringify(written)), stateOf(2))
    })
  )

  it.effect("keeps the newest ones", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const fs = yield* FileSystem.FileSystem
      for (const step of [8, 9, 10, 11]) yield* save(target, step, 3)
      assert.sameMembers(yield* fs.readDirectory(target), ["step_9", "step_10", "step_11"])
      assert.strictEqual((yield* newest(target)).newest?.state.step, 11)
    })
  )

  it.effect("are whole when they are about to count, and do not count before", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const fs = yield* FileSystem.FileSystem
      const at: Array<ReadonlyArray<string>> = []
      const before = Effect.map(
        Effect.orDie(fs.readDirectory(target, { recursive: true })),
        (names) => void at.push(names)
      )
      yield* Checkpoints.save({ ...Samples.options(target, Samples.snapshotOf(1)), before }, Samples.stateOf(1))
      const partial = ".step_1.partial"
      assert.sameMembers(at.flat(), [partial, `${partial}/trainer.json`, `${partial}/trainer_state.safetensors`])
      assert.deepStrictEqual(yield* fs.readDirectory(target), ["step_1"])
    })
  )

  it.effect("finds nothing in a folder that is not there yet", () =>
    Effect.gen(function* () {
      const target = (yield* Path.Path).join(yield* folder, "new")
      assert.deepStrictEqual(yield* newest(target), { newest: undefined, ignored: [] })
    })
  )

  it.effect("passes over a damaged checkpoint and names it", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const fs = yield* FileSystem.FileSystem
      yield* save(target, 1, 5)
      const second = yield* save(target, 2, 5)
      const third = yield* save(target, 3, 5)
      yield* fs.truncate(`${second}/trainer_state.safetensors`, 1_000_000)
      yield* fs.writeFileString(`${third}/trainer.json`, '{"step": 3')
      const found = yield* newest(target)
      assert.strictEqual(found.newest?.state.step, 1)
      assert.deepStrictEqual(
        found.ignored.map(({ folder }) => folder),
        [third, second]
      )
      assert.include(found.ignored[0]!.reason, "trainer.json")
      assert.include(found.ignored[1]!.reason, "but the file has 1000000: incomplete file")
    })
  )

  it.effect("does not start over where no checkpoint can be read", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const fs = yield* FileSystem.FileSystem
      const only = yield* save(target, 1)
      yield* fs.remove(`${only}/trainer_state.safetensors`)
      const error = yield* Effect.flip(newest(target))
      assert.strictEqual(error._tag, "CheckpointError")
      assert.include(error.message, "none of its checkpoints can be read")
    })
  )

  it.effect("passes over a checkpoint whose weights are not finite, by the tensor's name", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const first = yield* save(target, 1, 5)
      const snapshot = Samples.snapshotOf(2)
      snapshot.parameters[120_007] = Number.NaN
      const second = yield* Checkpoints.save(Samples.options(target, snapshot, 5), Samples.stateOf(2))
      const found = yield* newest(target)
      assert.strictEqual(found.newest?.folder, first)
      assert.deepStrictEqual(
        found.ignored.map(({ folder }) => folder),
        [second]
      )
      assert.include(found.ignored[0]!.reason, "tensor norm.weight is NaN or infinite at element 7")
    })
  )

  it.effect("refuses parameters of another layout, by the tensor's name", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const [first, second] = Samples.layout.slots
      const only = yield* save(target, 1)
      const read = (slots: typeof Samples.layout.slots) =>
        Effect.map(
          Effect.flip(StateFile.read(`${only}/trainer_state.safetensors`, { ...Samples.layout, slots })),
          ({ message }) => message
        )
      assert.include(yield* read([{ ...first!, shape: [400, 300] }, second!]), "tensor a.weight has shape [300,400]")
      assert.include(yield* read([first!, { ...second!, name: "b.weight" }]), "tensor b.weight is missing")
      assert.include(yield* read([first!]), "tensor norm.weight is not part of the model")
    })
  )
})

layer(NodeServices.layer)("LeaseJournal", (it) => {
  it.effect("says why it cannot be written in the words of the operating system", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = `${yield* fs.makeTempDirectoryScoped()}/gone`
      const { message } = yield* Effect.flip(LeaseJournal.write(folder, { firstStep: 1, leases: [] }))
      assert.match(message, /gone\/leases\.json: ENOENT: no such file or directory/)
    })
  )

  it.effect("remembers leases, and is none where it was never written or is damaged", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const fs = yield* FileSystem.FileSystem
      assert.deepStrictEqual(yield* LeaseJournal.read(target), Option.none())
      const journal = { firstStep: 4, leases: [{ id: "7", step: 4, leaseToken: "token" }] }
      yield* LeaseJournal.write(target, journal)
      assert.deepStrictEqual(yield* LeaseJournal.read(target), Option.some(journal))
      // As it was written when a batch's step was the number of steps before it.
      yield* fs.writeFileString(
        `${target}/leases.json`,
        JSON.stringify({ first_step: 3, leases: [{ id: "7", step: 3, leaseToken: "token" }] })
      )
      assert.deepStrictEqual(yield* LeaseJournal.read(target), Option.some(journal))
      yield* fs.writeFileString(`${target}/leases.json`, "{")
      assert.deepStrictEqual(yield* LeaseJournal.read(target), Option.none())
    })
  )
})
