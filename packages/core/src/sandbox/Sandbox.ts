/**
 * Where code that a model wrote runs: never in this process, with bounds on time, memory, output and files, and with
 * nothing of this machine in reach. What holds and what was tried: docs/sandbox.md.
 *
 * Whatever a program does ends in the result of its own run: it is stopped at its limits, its interpreter is replaced
 * if need be, and other runs notice nothing. Only a sandbox that does not work is an error; it is never scored.
 *
 * A program alone (`run`) may print and exit as it likes: nothing it says proves anything. Under tests (`test`) it runs
 * in one interpreter and the tests in another, to which only plain values cross, and the result is the tests' own,
 * under a secret of the run: there is nothing of the tests for a program to read, to patch or to imitate.
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
  /** A program alone. */
  readonly run: (program: Runs.Program, limits?: RunLimits) => Effect.Effect<Runs.Outcome, SandboxError>
  /** A program under tests, with one result for each. */
  readonly test: (
    program: Runs.Program,
    tests: Runs.Tests,
    limits?: RunLimits
  ) => Effect.Effect<Runs.Tested, SandboxError | Runs.BrokenTests>
}

export class Sandbox extends Context.Service<Sandbox, SandboxShape>()("@atropos/core/Sandbox") {}

/**
 * `wasi`: Python for WebAssembly, everywhere, standard library only. `bubblewrap`: this machine's Python behind
 * namespaces, on Linux.
 */
export type Kind = "wasi" | "bubblewrap"

/** What one run may be given instead of the sandbox's own limits; more than those allow is not to be had. */
export type RunLimits = Partial<Limits>

export interface Options {
  /** Wall-clock time of a run that asks for none. Default 5,000. */
  readonly timeMillis?: number
  /** Wall-clock time that a run may ask for. Default: `timeMillis`. */
  readonly longestMillis?: number
  /** Memory of a program. Default 256 MiB; under bubblewrap, which counts addresses and not what is used, 1 GiB. */
  readonly memoryBytes?: number
  /** What a run may print to stdout and to stderr, each. Default 64 KiB. */
  readonly outputBytes?: number
  /** Programs that run at once. Default: one per core but one, at most eight. */
  readonly workers?: number
}

export interface BubblewrapOptions extends Options {
  /** Path of the Python to run. Default `/usr/bin/python3`. */
  readonly python?: string
  /**
   * Folders that it needs and that are not the system's: those of a virtual environment, say. They can be read, not
   * written.
   */
  readonly visible?: ReadonlyArray<string>
}

const complete = (options: Options): Required<Options> => ({
  timeMillis: 5000,
  longestMillis: options.timeMillis ?? 5000,
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
      const most = complete(options)
      return Effect.map(Wasi.make(most), (interpreters) => over("wasi", interpreters, most))
    })
  )

/** This machine's Python in jails, for programs that need native packages; nothing is started before the first run. */
export const layerBubblewrap = (options: BubblewrapOptions = {}): Layer.Layer<Sandbox> =>
  Layer.effect(
    Sandbox,
    Effect.suspend(() => {
      const { python = "/usr/bin/python3", visible = [] } = options
      const most = complete({ memoryBytes: 2 ** 30, ...options })
      const made = Bubblewrap.make({ ...most, python, visible })
      return Effect.map(made, (interpreters) => over("bubblewrap", interpreters, most))
    })
  )

/** A sandbox over interpreters of one kind. */
const over = <R extends Runner, J extends Judge>(
  kind: Kind,
  interpreters: Interpreters<R, J>,
  most: Required<Options>
): SandboxShape => {
  const within = ({ outputBytes = Infinity, timeMillis = most.timeMillis }: RunLimits = {}): Limits => ({
    timeMillis: Math.min(timeMillis, most.longestMillis),
    outputBytes: Math.min(outputBytes, most.outputBytes)
  })
  return Sandbox.of({
    kind,
    run: Effect.fn("Sandbox.run")((program, limits) => Runs.run(interpreters, program, within(limits))),
    test: Effect.fn("Sandbox.test")((program, tests, limits) => Runs.test(interpreters, program, tests, within(limits)))
  })
}

const mebibytes = Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 16, maximum: 4096 }))

/** Where a run finds its sandbox where the program does not say: `ATROPOS_SANDBOX` and, for bubblewrap, its Python. */
const configured = Config.all({
  kind: Config.Literals(["wasi", "bubblewrap"], "ATROPOS_SANDBOX").pipe(Config.withDefault("wasi" as const)),
  memory: Config.option(Config.schema(mebibytes, "ATROPOS_SANDBOX_MEMORY")),
  python: Config.option(Config.NonEmptyString("ATROPOS_SANDBOX_PYTHON")),
  visible: Config.option(Config.NonEmptyString("ATROPOS_SANDBOX_VISIBLE"))
})

const settingsMessage =
  "ATROPOS_SANDBOX must be wasi or bubblewrap, and ATROPOS_SANDBOX_MEMORY a whole number of MiB from 16 to 4096"

/**
 * The sandbox that `kind` names, else `ATROPOS_SANDBOX` (`wasi` where that is not set). `ATROPOS_SANDBOX_PYTHON` is the
 * Python of bubblewrap, `ATROPOS_SANDBOX_VISIBLE` the folders it needs, separated by colons, `ATROPOS_SANDBOX_MEMORY`
 * MiB for a program.
 */
export const layer = (options: BubblewrapOptions & { readonly kind?: Kind } = {}): Layer.Layer<Sandbox, SandboxError> =>
  Layer.unwrap(
    Effect.map(configured, ({ kind, memory, python, visible }) => {
      const { kind: chosen = kind, ...given } = options
      const limits = { ...(Option.isSome(memory) && { memoryBytes: memory.value * 2 ** 20 }), ...given }
      return chosen === "wasi"
        ? layerWasi(limits)
        : layerBubblewrap({
            ...(Option.isSome(python) && { python: python.value }),
            ...(Option.isSome(visible) && { visible: visible.value.split(":") }),
            ...limits
          })
    }).pipe(Effect.mapError((cause) => new SandboxError({ message: settingsMessage, cause })))
  )

/** Whether programs run in this sandbox and are judged as they should be: how long one took, or why not. */
export const trial = Effect.flatMap(Sandbox, (sandbox) =>
  sandbox.test(
    { source: "def double(x):\n    return 2 * x" },
    { tests: ["assert double(2) == 4", "assert double(2) == 5"] }
  )
).pipe(
  Effect.catchTag("BrokenTests", ({ message }) => Effect.fail(new SandboxError({ message }))),
  Effect.filterOrFail(
    ({ tests: [right, wrong] }) => right?.passed === 1 && wrong?.passed === 0,
    ({ outcome, tests }) => new SandboxError({ message: `a program came to ${JSON.stringify({ outcome, tests })}` })
  ),
  Effect.map(({ outcome }) => outcome.millis)
)
