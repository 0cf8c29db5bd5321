/**
 * Claims batches from the original's `/batch`, which supports neither waiting nor leases: it is polled, and a batch it
 * hands out is gone from its queue. It counts the batches it has formed; their steps are counted here, from the run's
 * starting step.
 */
import { Clock, Duration, Effect, Option, Ref } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Batch } from "../trajectory/Batch.ts"
import type { ServiceHttp } from "./ServiceHttp.ts"
import type { TrainerClientShape } from "./TrainerClient.ts"
import { TrajectoryError } from "./TrajectoryError.ts"
import * as V0Answers from "./V0Answers.ts"
import * as WireGroup from "./WireGroup.ts"

export interface V0Claims extends Pick<TrainerClientShape, "claim"> {
  /** A run was registered with this starting step: batches count from it, unless counting has started. */
  readonly startAt: (startingStep: number) => Effect.Effect<void>
}

const first = Duration.millis(100)
const longest = Duration.seconds(1)

export const make = Effect.fnUntraced(function* (http: ServiceHttp) {
  const { get } = HttpClientRequest
  /** The step of the next batch; None until known. */
  const nextStep = yield* Ref.make(Option.none<number>())
  const served = yield* Ref.make(0)
  const sendBatch = http.sendFor(V0Answers.Batch)
  const currentStep = Effect.map(http.sendFor(V0Answers.Status)(get("/status")), (status) => status.current_step)

  const takeStep = Effect.gen(function* () {
    const known = yield* Ref.get(nextStep)
    // The server has already counted this batch.
    const step = Option.isSome(known) ? known.value : Math.max(1, yield* currentStep)
    yield* Ref.set(nextStep, Option.some(step + 1))
    return step
  })

  const poll = Effect.gen(function* () {
    const answer = yield* sendBatch(get("/batch"))
    if (answer.status === "error") {
      return yield* new TrajectoryError({ reason: "notFound", message: answer.message ?? "no run is registered" })
    }
    if (answer.batch === null) return Option.none<Batch>()
    const groups = yield* Effect.forEach(answer.batch, (group) =>
      Effect.mapError(
        Effect.fromResult(WireGroup.decode(group)),
        (cause) =>
          new TrajectoryError({ reason: "unsupported", message: `a group is invalid: ${cause.message}`, cause })
      )
    )
    const step = yield* takeStep
    const number = yield* Ref.getAndUpdate(served, (count) => count + 1)
    return Option.some<Batch>({
      id: String(number),
      step,
      leaseToken: "",
      leaseUntil: Number.MAX_SAFE_INTEGER,
      deliveries: 1,
      groups
    })
  })

  return {
    startAt: (startingStep) =>
      Ref.update(
        nextStep,
        Option.orElse(() => Option.some(startingStep + 1))
      ),
    claim: ({ wait }) =>
      Effect.gen(function* () {
        const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(wait)
        let pause = first
        while (true) {
          const batch = yield* poll
          const left = deadline - (yield* Clock.currentTimeMillis)
          if (Option.isSome(batch) || left <= 0) return batch
          yield* Effect.sleep(Duration.min(pause, Duration.millis(left)))
          pause = Duration.min(Duration.times(pause, 2), longest)
        }
      })
  } satisfies V0Claims
})
