/**
 * The trajectory service's API for trainers: register a run and train on batches, which are leased. A batch that is not
 * acknowledged in time goes to the next claimer.
 */
import { Context, Duration, Effect, Option, Result, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Batch } from "../trajectory/Batch.ts"
import * as PackedGroup from "./PackedGroup.ts"
import * as RunReader from "./RunReader.ts"
import type * as ServiceApi from "./ServiceApi.ts"
import type * as ServiceHttp from "./ServiceHttp.ts"
import * as Api from "./TrajectoryApi.ts"
import { TrajectoryError } from "./TrajectoryError.ts"

export type Leased = Pick<Batch, "id" | "leaseToken">

export interface TrainerClientShape extends RunReader.RunReader {
  /** Registers a run; a registered one is unchanged. */
  readonly registerRun: (spec: Api.RunSpec) => Effect.Effect<void, TrajectoryError>
  /** The next batch, waiting up to `wait` for one. */
  readonly claim: (options: {
    readonly owner: string
    readonly wait: Duration.Input
    readonly lease: Duration.Input
  }) => Effect.Effect<Option.Option<Batch>, TrajectoryError>
  /** The batch was trained on. Idempotent for the same token, so that it can be retried if its answer is lost. */
  readonly ack: (batch: Leased) => Effect.Effect<void, TrajectoryError>
  /** The batch was not trained on: it goes to the next claimer immediately. */
  readonly nack: (batch: Leased) => Effect.Effect<void, TrajectoryError>
  /**
   * The batch was trained on and the samplers have the weights, although there may be no checkpoint: environments
   * waiting at a staleness bound continue, with samplers of `policyVersion` or newer. No effect at a service without
   * such a bound.
   */
  readonly trained: (batch: Leased, policyVersion?: number) => Effect.Effect<void, TrajectoryError>
  /** Extends the lease to `lease` from now; works as long as no other trainer has the batch. */
  readonly extend: (batch: Leased, lease: Duration.Input) => Effect.Effect<void, TrajectoryError>
}

export class TrainerClient extends Context.Service<TrainerClient, TrainerClientShape>()(
  "@atropos/core/TrainerClient"
) {}

const notPacked = (message: string, cause?: unknown) =>
  new TrajectoryError({ reason: "unsupported", message: `the service's batch is invalid: ${message}`, cause })

const decodeHead = Schema.decodeUnknownEffect(Schema.toCodecStringTree(Api.BatchHead))

/** The batch of a packed answer: its head in the headers `atropos-*`, its groups in the body. */
const readBatch = (answer: ServiceHttp.Answer): Effect.Effect<Batch, TrajectoryError> =>
  Effect.gen(function* () {
    const header = (name: string) => answer.headers[`atropos-${name}`]
    const head = yield* Effect.mapError(
      decodeHead({
        id: header("batch-id"),
        step: header("step"),
        lease_token: header("lease-token"),
        lease_until: header("lease-until"),
        deliveries: header("deliveries")
      }),
      (cause) => notPacked(cause.message, cause)
    )
    const groups = Result.flatMap(PackedGroup.decodeList(answer.bytes), (items) =>
      Result.all(items.map(({ bytes }) => PackedGroup.decode(bytes)))
    )
    if (Result.isFailure(groups))
      return yield* notPacked(`${groups.failure.field}: ${groups.failure.message}`, groups.failure)
    return { ...head, groups: groups.success }
  })

/**
 * Uses the versioned endpoints. A claim does not use the platform's client: its answer is packed, with the head of the
 * batch in the headers, and may take as long as the claim waits.
 */
export const overHttp = ({ api, call, http, run }: ServiceApi.ServiceApi): TrainerClientShape => {
  const encodeClaim = http.bodyFor(Api.Claim)
  const request = HttpClientRequest.post(`/v1/runs/${encodeURIComponent(run)}/batches/claim`, {
    headers: { accept: Api.packedContentType }
  })
  return {
    ...RunReader.overHttp({ api, call, run }),
    registerRun: (spec) => Effect.asVoid(call(api.runs.create({ payload: spec }))),
    claim: ({ lease, owner, wait }) => {
      const extraTime = Duration.fromInputUnsafe(wait)
      const claim = { owner, waitSeconds: Duration.toSeconds(extraTime), leaseSeconds: Duration.toSeconds(lease) }
      return encodeClaim(claim).pipe(
        Effect.flatMap((body) => http.send(HttpClientRequest.setBody(request, body), { extraTime })),
        Effect.flatMap((answer) => (answer.status === 204 ? Effect.succeedNone : Effect.asSome(readBatch(answer))))
      )
    },
    ack: ({ id, leaseToken }) => call(api.batches.ack({ params: { run, id }, payload: { leaseToken } })),
    nack: ({ id, leaseToken }) => call(api.batches.nack({ params: { run, id }, payload: { leaseToken } })),
    trained: ({ id, leaseToken }, policyVersion) =>
      call(
        api.batches.trained({
          params: { run, id },
          payload: { leaseToken, ...(policyVersion !== undefined && { policyVersion }) }
        })
      ),
    extend: ({ id, leaseToken }, lease) =>
      call(
        api.batches.extend({
          params: { run, id },
          payload: { leaseToken, leaseSeconds: Duration.toSeconds(lease) }
        })
      )
  }
}
