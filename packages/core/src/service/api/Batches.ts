/** Endpoints that hand out batches, under a lease. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Authorization, describe, packed, RequestErrors, Roles, trainers } from "./Access.ts"
import { logprobsContentType, rowParams, runParams, wire } from "./Fields.ts"
import { common, wire as errors } from "./TrajectoryApiError.ts"

/** The claimer, its waiting time, and the lease's duration. */
export const Claim = wire({
  owner: Schema.NonEmptyString.check(Schema.isMaxLength(256)),
  waitSeconds: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 300 })),
  leaseSeconds: Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(86_400))
})
export type Claim = typeof Claim.Type

const head = {
  id: Schema.String,
  step: Schema.Int,
  leaseToken: Schema.String,
  /** Milliseconds since the epoch. */
  leaseUntil: Schema.Finite,
  /** Number of deliveries, including this one. */
  deliveries: Schema.Int
}

/** A batch without its groups. In a packed answer these are the headers `atropos-*`. */
export const BatchHead = wire(head)
export type BatchHead = typeof BatchHead.Type

/** A batch as JSON; each group is the original's object of 14 keys. */
export const JsonBatch = wire({ ...head, groups: Schema.Array(Schema.Unknown) })
export type JsonBatch = typeof JsonBatch.Type

export const Lease = wire({ leaseToken: Schema.NonEmptyString })
export type Lease = typeof Lease.Type

/** Proof of a lease, and its new duration from now. */
export const LeaseExtension = wire({
  leaseToken: Schema.NonEmptyString,
  leaseSeconds: Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(86_400))
})
export type LeaseExtension = typeof LeaseExtension.Type

/** A batch without its groups; `free` waits for a claimer. Newest first in lists. */
export const BatchRow = wire({
  id: Schema.String,
  step: Schema.Int,
  sequences: Schema.Int,
  groups: Schema.Int,
  state: Schema.Literals(["leased", "free", "acked"]),
  /** The last claimer. */
  leaseOwner: Schema.NullOr(Schema.String),
  leaseUntil: Schema.NullOr(Schema.Finite),
  deliveries: Schema.Int,
  createdAt: Schema.Finite,
  ackedAt: Schema.NullOr(Schema.Finite)
})
export type BatchRow = typeof BatchRow.Type

const logprobs = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: logprobsContentType }))

export class BatchesGroup extends HttpApiGroup.make("batches")
  .add(
    HttpApiEndpoint.post("claim", "/runs/:run/batches/claim", {
      params: runParams,
      payload: Claim,
      success: [JsonBatch, packed, HttpApiSchema.NoContent],
      error: common
    }).annotateMerge(describe("The oldest free batch, waiting up to `wait_seconds` for one; 204 when there is none.")),
    HttpApiEndpoint.post("ack", "/runs/:run/batches/:id/ack", {
      params: rowParams,
      payload: Lease,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.LeaseLost]
    }).annotateMerge(describe("The batch was learned from: it is not handed out again.")),
    HttpApiEndpoint.post("nack", "/runs/:run/batches/:id/nack", {
      params: rowParams,
      payload: Lease,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.LeaseLost]
    }).annotateMerge(describe("The batch goes to the next claimer at once.")),
    HttpApiEndpoint.post("extend", "/runs/:run/batches/:id/extend", {
      params: rowParams,
      payload: LeaseExtension,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.LeaseLost]
    }).annotateMerge(describe("Makes the lease last `lease_seconds` from now.")),
    HttpApiEndpoint.post("trained", "/runs/:run/batches/:id/trained", {
      params: rowParams,
      payload: Lease,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.LeaseLost]
    }).annotateMerge(
      describe(
        "The batch was learned from, and samplers have the new weights: what waits at a bound of staleness may go on. It " +
          "stays leased until `ack`; handed out again, it counts as not learned from."
      )
    ),
    HttpApiEndpoint.put("recordLogprobs", "/runs/:run/batches/:id/logprobs", {
      params: rowParams,
      payload: logprobs,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.LeaseLost]
    }).annotateMerge(
      describe(
        "The trainer's own logprobs of sequences of the batch, for people who look at tokens: in place of those that were " +
          "recorded of it before. They go with their groups."
      )
    )
  )
  .annotateEndpoints(Roles, trainers)
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
