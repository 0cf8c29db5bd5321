/**
 * Runs code written by a model: never in this process, with limits on time, memory, output and files, and without
 * access to this machine. Guarantees and attacks tried: docs/sandbox.md.
 *
 * A program only affects the result of its run: it is stopped at its limits, and its interpreter is replaced if
 * necessary. Only a broken sandbox is an error; it is never scored.
 *
 * A program alone (`run`) may print and exit freely: nothing it prints proves anything. Under tests (`test`) it runs in
 * one interpreter and the tests in another, to which only plain values cross, and the result is the tests' own, under a
 * secret of the run: a program cannot read, patch or imitate the tests.
 */
import { availableParallelism } from "node:os"
import { Config, Context, Effect, Layer, Option, Schema } from "effect"
import * as Bubblewrap from "./Bubblewrap.ts"
import { type Interpreters, type Judge, type Limits, type Runner, SandboxError } from "./Interpreter.ts"
import * as Runs from "./Runs.ts"
import * as Wasi from "./Wasi.ts"

export { SandboxError } from "./Interpreter.ts"
export {
  BrokenTests,
  type Ending,
  type Outcome,
  type Program,
  type Tested,
  type TestResult,
  type Tests
} from "./Runs.ts"

export interface SandboxShape {
  readonly kind: Kind
  /** Runs a program alone. */
  readonly run: (program: Runs.Program, limits?: RunLimits) => Effect.Effect<Runs.Outcome, SandboxError>
  /** Runs a program under tests, with one result per test. */
  readonly test: (
    program: Runs.Program,
    tests: Runs.Tests,
    limits?: RunLimits
  ) => Effect.Effect<Runs.Tested, SandboxError | Runs.BrokenTests>
}

export class Sandbox extends Context.Service<Sandbox, SandboxShape>()("@atropos/envs/sandbox/Sandbox") {}

/**
 * `wasi`: Python for WebAssembly, on all systems, standard library only. `bubblewrap`: this machine's Python behind
 * namespaces, on Linux.
 */
export type Kind = "wasi" | "bubblewrap"

/** Limits of one run, at most the sandbox's own. */
export type RunLimits = Partial<Limits>

export interface Options {
  /** Default wall-clock time of a run. Default 5,000. */
  readonly timeMillis?: number
  /** Max wall-clock time that a run may request. Default: `timeMillis`. */
  readonly maxMillis?: number
  /** Memory of a program. Default 256 MiB; 1 GiB under bubblewrap, which counts address space instead of usage. */
  readonly memoryBytes?: number
  /** Max output of a run to stdout and to stderr, each. Default 64 KiB. */
  readonly outputBytes?: number
  /** Max concurrent programs. Default: one per core except one, at most eight. */
  readonly workers?: number
}

export interface BubblewrapOptions extends Options {
  /** Path of the Python to run. Default `/usr/bin/python3`. */
  readonly python?: string
  /** Additional folders that it needs, read-only, for example those of a virtual environment. */
  readonly visible?: ReadonlyArray<string>
}

const complete = (options: Options): Required<Options> => ({
  timeMillis: 5000,
  maxMillis: options.timeMillis ?? 5000,
  memoryBytes: 256 * 2 ** 20,
  outputBytes: 64 * 2 ** 10,
  workers: Math.max(1, Math.min(8, availableParallelism() - 1)),
  ...options
})

/** Python for WASI; nothing is loaded before the first run. */
export const layerWasi = (options: Options = {}): Layer.Layer<Sandbox> =>
  Layer.effect(
    Sandbox,
    Effect.suspend(() => {
      const max = complete(options)
      return Effect.map(Wasi.make(max), (interpreters) => over("wasi", interpreters, max))
    })
  )

/** This machine's Python in jails, for programs that need native packages; nothing is started before the first run. */
export const layerBubblewrap = (options: BubblewrapOptions = {}): Layer.Layer<Sandbox> =>
  Layer.effect(
    Sandbox,
    Effect.suspend(() => {
      const { python = "/usr/bin/python3", visible = [] } = options
      const max = complete({ memoryBytes: 2 ** 30, ...options })
      const made = Bubblewrap.make({ ...max, python, visible })
      return Effect.map(made, (interpreters) => over("bubblewrap", interpreters, max))
    })
  )

const over = <R extends Runner, J extends Judge>(
  kind: Kind,
  interpreters: Interpreters<R, J>,
  max: Required<Options>
): SandboxShape => {
  const within = ({ outputBytes = Infinity, timeMillis = max.timeMillis }: RunLimits = {}): Limits => ({
    timeMillis: Math.min(timeMillis, max.maxMillis),
    outputBytes: Math.min(outputBytes, max.outputBytes)
  })
  return Sandbox.of({
    kind,
    run: Effect.fn("Sandbox.run")((program, limits) => Runs.run(interpreters, program, within(limits))),
    test: Effect.fn("Sandbox.test")((program, tests, limits) => Runs.test(interpreters, program, tests, within(limits)))
  })
}

const mebibytes = Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 16, maximum: 4096 }))

/** Default configuration of the sandbox: `ATROPOS_SANDBOX` and, for bubblewrap, its Python. */
const configured = Config.all({
  kind: Config.Literals(["wasi", "bubblewrap"], "ATROPOS_SANDBOX").pipe(Config.withDefault("wasi" as const)),
  memory: Config.option(Config.schema(mebibytes, "ATROPOS_SANDBOX_MEMORY")),
  python: Config.option(Config.NonEmptyString("ATROPOS_SANDBOX_PYTHON")),
  visible: Config.option(Config.NonEmptyString("ATROPOS_SANDBOX_VISIBLE"))
})

const settingsMessage =
  "ATROPOS_SANDBOX must be wasi or bubblewrap, and ATROPOS_SANDBOX_MEMORY a whole number of MiB from 16 to 4096"

/**
 * The sandbox selected by `kind`, else by `ATROPOS_SANDBOX` (default `wasi`). `ATROPOS_SANDBOX_PYTHON` is the Python of
 * bubblewrap, `ATROPOS_SANDBOX_VISIBLE` the folders it needs, separated by colons, `ATROPOS_SANDBOX_MEMORY` MiB for a
 * program.
 */
export const layer = (options: BubblewrapOptions & { readonly kind?: Kind } = {}): Layer.Layer<Sandbox, SandboxError> =>
  Layer.unwrap(
    Effect.map(configured, ({ kind, memory, python, visible }) => {
      const { kind: selected = kind, ...input } = options
      const limits = { ...(Option.isSome(memory) && { memoryBytes: memory.value * 2 ** 20 }), ...input }
      return selected === "wasi"
        ? layerWasi(limits)
        : layerBubblewrap({
            ...(Option.isSome(python) && { python: python.value }),
            ...(Option.isSome(visible) && { visible: visible.value.split(":") }),
            ...limits
          })
    }).pipe(Effect.mapError((cause) => new SandboxError({ message: settingsMessage, cause })))
  )

/** Tests that this sandbox runs and judges programs correctly: how long one took, or why not. */
export const trial = Effect.flatMap(Sandbox, (sandbox) =>
  sandbox.test(
    { source: "def double(x):\n    return 2 * x" },
    { tests: ["assert double(2) == 4", "assert double(2) == 5"] }
  )
).pipe(
  Effect.catchTag("BrokenTests", ({ message }) => Effect.fail(new SandboxError({ message }))),
  Effect.filterOrFail(
    ({ tests: [right, wrong] }) => right?.passed === 1 && wrong?.passed === 0,
    ({ outcome, tests }) =>
      new SandboxError({ message: `a test program resulted in ${JSON.stringify({ outcome, tests })}` })
  ),
  Effect.map(({ outcome }) => outcome.millis)
)
