import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema } from "effect"
import * as Device from "../../src/exec/Device.ts"
import type { Trial } from "../../src/exec/Device.ts"

const working = Schema.Struct({
  kind: Schema.Literals(["cpu", "webgpu", "cuda"]),
  gflops: Schema.Finite.check(Schema.isGreaterThan(0))
})

/** With variables of the environment set, which the processes that are started see. */
const withVariables = <A, E, R>(variables: Record<string, string>, effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const before = { ...process.env }
      Object.assign(process.env, variables)
      return before
    }),
    () => effect,
    (before) => Effect.sync(() => void (process.env = before))
  )

describe("Device.best", () => {
  it.prop("is the fastest of those that work", [Schema.NonEmptyArray(working)], ([found]) => {
    const trials = found.map((result): Trial => ({ ...result, works: true }))
    const { kind } = Device.best(trials)
    const fastest = Math.max(...found.map(({ gflops }) => gflops))
    assert.isTrue(found.some((result) => result.kind === kind && result.gflops === fastest))
  })

  it("is the CPU where no GPU works, and says of each why and what to do", () => {
    const { detail, kind } = Device.best([
      { kind: "webgpu", works: false, why: "no Vulkan device", advice: "install a driver" },
      { kind: "cuda", works: false, why: "no libraries", advice: "fetch them" }
    ])
    assert.strictEqual(kind, "cpu")
    assert.match(detail, /webgpu: no Vulkan device \(install a driver\); cuda: no libraries \(fetch them\)/)
  })

  it("is not WebGPU in software, which works but is slower", () => {
    const { detail, kind } = Device.best([
      { kind: "webgpu", works: true, gflops: 7.15 },
      { kind: "cpu", works: true, gflops: 203 }
    ])
    assert.strictEqual(kind, "cpu")
    assert.match(detail, /webgpu: slower \(7\.2 GFLOP\/s against 200 GFLOP\/s\)/)
  })
})

describe("Device.trial", () => {
  it.live("the CPU works", () =>
    Effect.gen(function* () {
      const result = yield* Device.trial("cpu")
      assert.isTrue(result.works && result.gflops > 0)
    })
  )

  it.live.skipIf(process.platform !== "linux")(
    "without a Vulkan driver there is no WebGPU, and asking for it fails",
    () =>
      withVariables(
        { VK_ICD_FILENAMES: "/nowhere.json", VK_DRIVER_FILES: "/nowhere.json" },
        Effect.gen(function* () {
          const error = yield* Effect.flip(Device.choose("webgpu"))
          assert.strictEqual(error.reason, "device")
          assert.match(error.message, /webgpu cannot be used: no Vulkan device.*docs\/gpu\.md/)
        })
      )
  )

  it.live("CUDA works, or says what to do", () =>
    Effect.gen(function* () {
      const result = yield* Device.trial("cuda")
      const chosen = yield* Effect.result(Device.choose("cuda"))
      assert.strictEqual(chosen._tag, result.works ? "Success" : "Failure")
      if (!result.works) assert.match(result.advice, /run: |CUDA and cuDNN|Linux on x64/)
    })
  )

  it.live("a driver that takes its process along does not take ours", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const crash = `${yield* fs.makeTempDirectoryScoped()}/crash.cjs`
      yield* fs.writeFileString(crash, "process.abort()")
      const result = yield* withVariables({ NODE_OPTIONS: `--require=${crash}` }, Device.trial("cpu"))
      assert.match(result.works ? "" : result.why, /its driver crashed \(SIGABRT\)/)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
