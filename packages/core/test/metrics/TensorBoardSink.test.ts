import { BinaryReader } from "@bufbuild/protobuf/wire"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema } from "effect"
import * as EventFile from "../../src/metrics/EventFile.ts"
import * as TensorBoardSink from "../../src/metrics/TensorBoardSink.ts"
import * as MetricsSink from "../../src/metrics/MetricsSink.ts"

/** The records of a file, their checksums checked. */
const records = (bytes: Uint8Array): ReadonlyArray<Uint8Array> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const found: Array<Uint8Array> = []
  for (let at = 0; at < bytes.length;) {
    const length = Number(view.getBigUint64(at, true))
    assert.strictEqual(view.getUint32(at + 8, true), EventFile.masked(EventFile.crc32c(bytes.subarray(at, at + 8))))
    const record = bytes.subarray(at + 12, at + 12 + length)
    assert.strictEqual(view.getUint32(at + 12 + length, true), EventFile.masked(EventFile.crc32c(record)))
    found.push(record)
    at += 16 + length
  }
  return found
}

type Fields = ReadonlyMap<number, ReadonlyArray<Uint8Array | number | bigint>>

/** A message by field number, without knowing its type: numbers of 64 bits are doubles, those of 32 floats. */
const fields = (bytes: Uint8Array): Fields => {
  const reader = new BinaryReader(bytes)
  const found = new Map<number, Array<Uint8Array | number | bigint>>()
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    const value = {
      0: () => reader.int64(),
      1: () => reader.double(),
      2: () => reader.bytes(),
      5: () => reader.float()
    }[type as 0 | 1 | 2 | 5]()
    found.set(number, [...(found.get(number) ?? []), typeof value === "string" ? BigInt(value) : value])
  }
  return found
}

const inner = (message: Fields, ...path: ReadonlyArray<number>): Fields =>
  path.reduce((at, number) => fields(at.get(number)![0] as Uint8Array), message)

const text = (message: Fields, number: number): string =>
  new TextDecoder().decode(message.get(number)![0] as Uint8Array)

describe("crc32c", () => {
  it("gives the check value of its definition, and TensorFlow's masked one", () => {
    const digits = new TextEncoder().encode("123456789")
    assert.strictEqual(EventFile.crc32c(digits), 0xe3069283)
    assert.strictEqual(EventFile.crc32c(new Uint8Array(32)), 0x8a9136aa)
    assert.strictEqual(EventFile.masked(0xe3069283), 0xc78ab0e5)
  })
})

describe("TensorBoardSink", () => {
  it.live("writes a run's figures, tables and settings as events of a file of its own", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const at = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-tensorboard-" })
      const sink = yield* TensorBoardSink.make(at)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const recorder = yield* MetricsSink.make([sink]).open({
            kind: "environment",
            name: "add_0",
            key: "add",
            isResumed: false,
            prefix: "add_0_",
            config: { group_size: 4 },
            announced: Effect.succeed({ group: null, project: null })
          })
          yield* recorder.figures(7, { "train/scores_mean": 0.25, huge: 1e300 })
          yield* recorder.table(8, { name: "train/rollouts", columns: ["text", "score"], rows: [["a | b\nc", 1]] })
        })
      )
      const [name, ...others] = yield* fs.readDirectory(`${at}/tensorboard/add`)
      assert.deepStrictEqual(others, [])
      assert.match(name!, /^events\.out\.tfevents\.\d{10}\./)
      const [head, settings, score, huge, table] = records(yield* fs.readFile(`${at}/tensorboard/add/${name}`)).map(
        fields
      )
      assert.strictEqual(text(head!, 3), "brain.Event:2")
      assert.include(text(inner(settings!, 5, 1, 8), 8), "| group_size | 4 |")
      assert.deepStrictEqual(score!.get(2), [7n])
      const value = inner(score!, 5, 1)
      assert.strictEqual(text(value, 1), "train/scores_mean")
      assert.deepStrictEqual(value.get(2), [0.25])
      assert.deepStrictEqual(inner(huge!, 5, 1).get(2), [3.4028234663852886e38])
      assert.deepStrictEqual(table!.get(2), [8n])
      const rollouts = inner(table!, 5, 1)
      assert.strictEqual(text(inner(rollouts, 9, 1), 1), "text")
      assert.include(text(inner(rollouts, 8), 8), "| a \\| b<br>c | 1 |")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.prop("scalars of any size and step survive, as 32 bits can", [Schema.Number, Schema.Natural], ([scalar, step]) => {
    const [event] = records(EventFile.encode({ wallTime: 1.5, step, tag: "t", value: { scalar } })).map(fields)
    assert.deepStrictEqual(event!.get(1), [1.5])
    assert.deepStrictEqual(event!.get(2), [BigInt(step)])
    const [value] = inner(event!, 5, 1).get(2)!
    const bound = 3.4028234663852886e38
    const kept = Number.isFinite(scalar) ? Math.max(-bound, Math.min(bound, Math.fround(scalar))) : scalar
    assert.deepStrictEqual(Number(value) + 0, kept + 0)
  })
})
