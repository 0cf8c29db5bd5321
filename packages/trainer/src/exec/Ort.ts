/**
 * Runs ONNX Runtime in the calling thread, which a run blocks until it completes. For engine threads, scripts and
 * tests.
 */
import { Effect, Layer, Semaphore } from "effect"
import * as Device from "./Device.ts"
import { type Device as ChosenDevice, Executor, ExecutorError } from "./Executor.ts"
import * as OrtRuntime from "./OrtRuntime.ts"
import type { RuntimeOptions } from "./OrtSession.ts"

const toError = (cause: unknown): ExecutorError =>
  cause instanceof ExecutorError ? cause : new ExecutorError({ reason: "run", message: String(cause), cause })

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: toError })

/** The executor of a device that is known to work. */
export const make = Effect.fn("Ort.make")(function* (options: RuntimeOptions, detail?: string) {
  const runtime = yield* Effect.acquireRelease(
    attempt(() => OrtRuntime.make(options)),
    ({ close }) => Effect.promise(close)
  )
  const lock = yield* Semaphore.make(1)
  // A started run blocks the thread anyway, so it is awaited, and nothing is left half done.
  const inTurn = <A>(run: () => Promise<A>) => lock.withPermits(1)(Effect.uninterruptible(attempt(run)))
  return Executor.of({
    device: { kind: options.device, detail: detail ?? Device.describe(options.device) },
    load: (model, load) =>
      Effect.map(
        Effect.acquireRelease(
          inTurn(() => runtime.load(model, load)),
          (program) => Effect.ignore(inTurn(() => runtime.release(program)))
        ),
        (program) => ({ run: (feeds, run) => inTurn(() => runtime.run(program, feeds, run)) })
      ),
    put: (tensor) => inTurn(() => runtime.put(tensor)),
    update: (resident, offset, values) => inTurn(() => runtime.update(resident, offset, values)),
    read: (resident) => inTurn(() => runtime.read(resident)),
    free: (resident) => lock.withPermits(1)(Effect.sync(() => runtime.free(resident)))
  })
})

export interface Options {
  /** A chosen device, or a choice made here: all except the CPU are tested first. Default: the CPU. */
  readonly device?: ChosenDevice | Device.DeviceChoice
  /** Threads of the CPU device; 0 (the default): one per core. */
  readonly threads?: number
}

export const layer = ({ device = "cpu", threads = 0 }: Options = {}): Layer.Layer<Executor, ExecutorError> =>
  Layer.effect(
    Executor,
    Effect.gen(function* () {
      const { detail, kind } = yield* Device.resolve(device)
      return yield* make({ device: kind, threads }, detail)
    })
  )
