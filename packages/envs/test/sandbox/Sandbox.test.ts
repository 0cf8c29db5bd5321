import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Pool } from "effect"
import * as Sandbox from "../../src/sandbox/Sandbox.ts"
import * as Runs from "../../src/sandbox/Runs.ts"
import * as Wasi from "../../src/sandbox/Wasi.ts"
import * as WasmMemory from "../../src/sandbox/WasmMemory.ts"
import * as RunTest from "./RunTest.ts"
import * as TestedTest from "./TestedTest.ts"

const limits = { workers: 2, timeMillis: 30_000, memoryBytes: 256 * 2 ** 20 }

/** `hostile/Attacks.test.ts` has the attacks. */
const suite = (name: string, sandbox: Layer.Layer<Sandbox.Sandbox>) =>
  layer(sandbox, { excludeTestServices: true })(name, (it) => {
    RunTest.suite(it)
    TestedTest.suite(it)
  })

suite("Sandbox.layerWasi", Sandbox.layerWasi({ ...limits, memoryBytes: 64 * 2 ** 20 }))

const bubblewrap = Sandbox.layerBubblewrap(limits)
const missing = await Effect.runPromise(Effect.result(Effect.provide(Sandbox.trial, bubblewrap)))
if (missing._tag === "Failure") console.log(`bubblewrap does not work here: ${missing.failure.message}`)
describe.runIf(missing._tag === "Success")("on Linux with bubblewrap", () => {
  suite("Sandbox.layerBubblewrap", bubblewrap)

  it.live("reads nothing from a program but its output and its answers", () =>
    Effect.gen(function* () {
      const sandbox = yield* Sandbox.Sandbox
      const source =
        "import os\nwritten = 0\ntry:\n    while written < 1 << 26:\n        written += os.write(4, b'x' * 65536)\n" +
        "except OSError:\n    pass\nprint(written)"
      assert.isBelow(Number((yield* sandbox.run({ source })).stdout), 2 ** 20)
    }).pipe(Effect.provide(bubblewrap))
  )
})

const kindOf = (env: { readonly [name: string]: string }, options?: Parameters<typeof Sandbox.layer>[0]) =>
  Sandbox.Sandbox.useSync(({ kind }) => kind).pipe(
    Effect.provide(Layer.provide(Sandbox.layer(options), ConfigProvider.layer(ConfigProvider.fromEnv({ env }))))
  )

describe("Sandbox.layer", () => {
  it.effect("is the one that is asked for, else the one that is configured, else Python for WASI", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* kindOf({}), "wasi")
      assert.strictEqual(yield* kindOf({ ATROPOS_SANDBOX: "bubblewrap" }), "bubblewrap")
      assert.strictEqual(yield* kindOf({ ATROPOS_SANDBOX: "bubblewrap" }, { kind: "wasi" }), "wasi")
    })
  )

  it.effect("says what may be configured where something else is", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(kindOf({ ATROPOS_SANDBOX: "pyodide" }))
      assert.match(error.message, /^ATROPOS_SANDBOX must be wasi or bubblewrap/)
      const small = yield* Effect.flip(kindOf({ ATROPOS_SANDBOX_MEMORY: "1" }))
      assert.match(small.message, /ATROPOS_SANDBOX_MEMORY a whole number of MiB from 16 to 4096/)
    })
  )
})

describe("Sandbox.layerBubblewrap", () => {
  it.live("fails as itself, and not as a program, where it cannot start", () =>
    Effect.gen(function* () {
      const sandbox = yield* Sandbox.Sandbox
      const error = yield* Effect.flip(sandbox.run({ source: "print(1)" }))
      assert.deepInclude(error, { _tag: "SandboxError" })
      // Which of the two depends on whether this machine has bubblewrap.
      assert.match(error.message, /no-such-python did not start in bubblewrap|cannot start bubblewrap/)
    }).pipe(Effect.provide(Sandbox.layerBubblewrap({ python: "/no-such-python" })))
  )
})

describe("Sandbox.layerWasi", () => {
  it.live("fails as itself, and not as a program, where it cannot start", () =>
    Effect.gen(function* () {
      const sandbox = yield* Sandbox.Sandbox
      const error = yield* Effect.flip(sandbox.run({ source: "print(1)" }))
      assert.deepInclude(error, { _tag: "SandboxError" })
      assert.match(error.message, /starts with 160 pages of memory, more than the 16 allowed/)
    }).pipe(Effect.provide(Sandbox.layerWasi({ memoryBytes: 2 ** 20 })))
  )
})

describe("Runs.run", () => {
  const limits = { timeMillis: 30_000, outputBytes: 1000 }
  /** Interpreters of which the first so many do not start. */
  const flaky = Effect.fnUntraced(function* (failures: number) {
    const interpreters = yield* Wasi.make({ workers: 1, memoryBytes: 64 * 2 ** 20, outputBytes: 1000 })
    let attempts = 0
    const acquire = Effect.suspend(() =>
      attempts++ < failures
        ? Effect.fail(new Sandbox.SandboxError({ message: "no room for it" }))
        : Pool.get(interpreters.runners)
    )
    const runners = yield* Pool.makeWithTTL({ acquire, min: 0, max: 1, timeToLive: "1 minute" })
    return { ...interpreters, runners }
  })

  it.live("tries to launch again what did not start, and fails as the sandbox where it never does", () =>
    Effect.gen(function* () {
      const second = yield* flaky(2)
      assert.strictEqual((yield* Runs.run(second, { source: "print(1)" }, limits)).stdout, "1\n")
      const never = yield* flaky(Infinity)
      assert.deepInclude(yield* Effect.flip(Runs.run(never, { source: "print(1)" }, limits)), {
        _tag: "SandboxError",
        message: "no room for it"
      })
    })
  )
})

describe("WasmMemory.bounded", () => {
  const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
  it("sets the maximum and leaves the rest as it is, debugging sections apart", () => {
    const custom = [0, 3, 1, 0x64, 0]
    const types = [1, 4, 1, 0x60, 0, 0]
    const given = Uint8Array.from([...header, ...types, 5, 3, 1, 0, 2, ...custom])
    assert.deepStrictEqual(Array.from(WasmMemory.bounded(given, 300 * 65536)), [
      ...header,
      ...types,
      5,
      5,
      1,
      1,
      2,
      0xac,
      0x02
    ])
  })

  it("refuses a module without a memory of its own", () => {
    assert.throws(() => WasmMemory.bounded(Uint8Array.from(header), 65536), /no memory section/)
  })
})
