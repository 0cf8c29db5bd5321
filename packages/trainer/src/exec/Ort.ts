/** ONNX Runtime in the calling thread: a run blocks it until it is through. For engine threads, scripts and tests. */
import { Effect, Layer } from "effect"
import * as Device from "./Device.ts"
import { Executor, ExecutorError } from "./Executor.ts"
import * as OrtRuntime from "./OrtRuntime.ts"

const toError = (cause: unknown): ExecutorError =>
  cause instanceof ExecutorError ? cause : new ExecutorError({ reason: "run", message: String(cause), cause })

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: toError })

const attemptSync = <A>(run: () => A) => Effect.try({ try: run, catch: toError })

/** The executor of a device that is known to work. */
export const make = Effect.fn("Ort.make")(function* (options: OrtRuntime.RuntimeOptions) {
  const runtime = yield* Effect.acquireRelease(
    attempt(() => OrtRuntime.make(options)),
    ({ close }) => Effect.promise(close)
  )
  return Executor.of({
    device: { kind: options.device, detail: Device.describe(options.device) },
    load: (model, load) =>
      Effect.map(
        Effect.acquireRelease(
          attempt(() => runtime.load(model, load)),
          (program) => Effect.promise(() => runtime.release(program))
        ),
        (program) => ({ run: (feeds, run) => attempt(() => runtime.run(program, feeds, run)) })
      ),
    put: (tensor) => attemptSync(() => runtime.put(tensor)),
    update: (resident, offset, values) => attemptSync(() => runtime.update(resident, offset, values)),
    read: (resident) => attempt(() => runtime.read(resident)),
    free: (resident) => Effect.sync(() => runtime.free(resident))
  })
})

/** Threads 0: one for each core. */
export const layer = ({ device = "cpu", threads = 0 }: Partial<OrtRuntime.RuntimeOptions> = {}): Layer.Layer<
  Executor,
  ExecutorError
> => Layer.effect(Executor, make({ device, threads }))
