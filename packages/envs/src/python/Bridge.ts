/**
 * Runs an environment of a Python package in its own interpreter.
 *
 * The interpreter starts with the first request, and restarts with the next one after it has ended, reopening the
 * environment. Pending requests fail then, and retrying is up to the caller: a rollout's item is retried. Packages may
 * need conflicting versions of libraries, so no two environments share an interpreter.
 */
import * as LogThrottle from "@atropos/core/base/LogThrottle"
import { Effect, Exit, Scope, Schema, Semaphore, Stream } from "effect"
import * as Variables from "../command/Variables.ts"
import * as ProcessSupervisor from "../command/ProcessSupervisor.ts"
import { PythonError } from "./PythonError.ts"
import * as PythonProcess from "./PythonProcess.ts"
import * as PythonSettings from "./PythonSettings.ts"

/** Response of `bridge.py` to `open`. */
const Opened = Schema.Struct({
  handle: Schema.Int,
  protocol: Schema.Literal(1),
  python: Schema.String,
  version: Schema.String,
  pid: Schema.Int
})

export interface Options<Info> {
  /** The interpreter, with its arguments. */
  readonly words: ReadonlyArray<string>
  readonly kind: string
  /** The package to install, by its pip name. */
  readonly packageName: string
  readonly name: string
  readonly config: { readonly [key: string]: unknown }
  /** Names of variables of this process to pass on. */
  readonly pass?: ReadonlyArray<string>
  /** Schema of the information that `open` returns for this kind of environment. */
  readonly info: Schema.Codec<Info, unknown>
}

export interface Bridge<Info> {
  /** The package's information from opening. */
  readonly info: Effect.Effect<Info, PythonError>
  /** The items, once the environment is open; fails with the reason if it cannot be opened. */
  readonly items: <A, E>(items: Stream.Stream<A, E>) => Stream.Stream<A, E | PythonError>
  /** Runs an operation on the environment; validates its response. */
  readonly call: <A>(
    operation: string,
    values: object,
    answer: Schema.Codec<A, unknown>
  ) => Effect.Effect<A, PythonError>
  /** The interpreter's process and versions, for logs and tests. */
  readonly opened: Effect.Effect<typeof Opened.Type, PythonError>
}

interface Running<Info> {
  readonly process: PythonProcess.PythonProcess
  readonly opened: typeof Opened.Type
  readonly info: Info
  readonly scope: Scope.Closeable
}

const protocolVersion = 1

const decoded = <A>(schema: Schema.Codec<A, unknown>, value: unknown, operation: string) =>
  Effect.mapError(
    Schema.decodeUnknownEffect(schema)(value),
    (cause) =>
      new PythonError({
        reason: "protocol",
        message: `unexpected response of the Python bridge to ${operation}: ${cause.message}`,
        trace: [],
        cause
      })
  )

export const make = Effect.fn("Bridge.make")(function* <Info>(
  options: Options<Info>
): Effect.fn.Return<Bridge<Info>, never, Scope.Scope> {
  const { config, info, kind, name, packageName, pass = [], words } = options
  const supervisor = yield* ProcessSupervisor.make
  const outer = yield* Effect.scope
  const lock = yield* Semaphore.make(1)
  let running: Running<Info> | undefined

  const open = Effect.gen(function* () {
    if (running !== undefined) yield* Scope.close(running.scope, Exit.void)
    running = undefined
    const scope = yield* Scope.fork(outer)
    return yield* Effect.gen(function* () {
      // A fixed order of string sets in every process: some packages draw from them.
      const variables = {
        ...Variables.kept([...PythonSettings.ofUv, ...pass]),
        PYTHONHASHSEED: "0",
        PYTHONDONTWRITEBYTECODE: "1",
        // The gateway is on this machine, regardless of any proxy passed on.
        NO_PROXY: "127.0.0.1,localhost",
        no_proxy: "127.0.0.1,localhost"
      }
      const process = yield* PythonProcess.start({ supervisor, words, packageName, variables })
      const answer = yield* process.ask("open", { protocol: protocolVersion, kind, name, config })
      running = {
        process,
        opened: yield* decoded(Opened, answer, "open"),
        info: yield* decoded(info, answer, "open"),
        scope
      }
      return running
    }).pipe(
      Effect.provideService(Scope.Scope, scope),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
  })
  const current = lock.withPermits(1)(
    Effect.suspend(() =>
      running !== undefined && running.process.isAlive() ? Effect.succeed(running) : Effect.uninterruptible(open)
    )
  )

  let deaths = 0
  /** Ends everything that a process has started, once it is no longer alive; logs why it ended, ever more rarely. */
  const ended = (one: Running<Info>, { message }: PythonError) =>
    lock.withPermits(1)(
      Effect.suspend(() => {
        if (one !== running || one.process.isAlive()) return Effect.void
        running = undefined
        const what = "the Python interpreter ended; the next request starts another"
        const logged = LogThrottle.isWorthLogging(++deaths)
          ? Effect.logWarning(what, { environment: name, reason: message, times: deaths })
          : Effect.void
        return Effect.andThen(logged, Scope.close(one.scope, Exit.void))
      })
    )

  return {
    info: Effect.map(current, ({ info }) => info),
    items: (items) => Stream.unwrap(Effect.as(current, items)),
    call: Effect.fnUntraced(function* (operation, values, answer) {
      const one = yield* current
      const reply = yield* Effect.tapError(
        one.process.ask(operation, { handle: one.opened.handle, ...values }),
        (error) => ended(one, error)
      )
      return yield* decoded(answer, reply, operation)
    }),
    opened: Effect.map(current, ({ opened }) => opened)
  }
})
