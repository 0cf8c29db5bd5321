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

/** Proof of a lease, and the policy version of the weights trained on the batch. */
export const Trained = wire({
  leaseToken: Schema.NonEmptyString,
  policyVersion: Schema.optionalKey(Schema.Natural)
})
export type Trained = typeof Trained.Type

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
    }).annotateMerge(describe("The oldest free batch, waiting up to `wait_seconds` for one; 204 if none.")),
    HttpApiEndpoint.post("ack", "/runs/:run/batches/:id/ack", {
      params: rowParams,
      payload: Lease,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.LeaseLost]
    }).annotateMerge(describe("The batch was trained on: it will not be redelivered.")),
    HttpApiEndpoint.post("nack", "/runs/:run/batches/:id/nack", {
      params: rowParams,
      payload: Lease,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.LeaseLost]
    }).annotateMerge(describe("Releases the batch to the next claimer immediately.")),
    HttpApiEndpoint.post("extend", "/runs/:run/batches/:id/extend", {
      params: rowParams,
      payload: LeaseExtension,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.LeaseLost]
    }).annotateMerge(describe("Extends the lease to `lease_seconds` from now.")),
    HttpApiEndpoint.post("trained", "/runs/:run/batches/:id/trained", {
      params: rowParams,
      payload: Trained,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.LeaseLost]
    }).annotateMerge(
      describe(
        "The batch was trained on, and samplers have the new weights: environments waiting at a staleness bound may continue, with " +
          "samplers of `policy_version` or newer. It stays leased until `ack`; if redelivered, it counts as untrained."
      )
    ),
    HttpApiEndpoint.put("recordLogprobs", "/runs/:run/batches/:id/logprobs", {
      params: rowParams,
      payload: logprobs,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.LeaseLost]
    }).annotateMerge(
      describe(
        "The trainer's logprobs of sequences of the batch, for inspection; they replace those " +
          "recorded before, and are deleted with their groups."
      )
    )
  )
  .annotateEndpoints(Roles, trainers)
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
