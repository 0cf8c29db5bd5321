/**
 * Encodes a claimed batch as a response: packed (head in the headers `atropos-*`, groups as a packed list) or JSON.
 * Groups stored in the requested form are concatenated without decoding.
 */
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { PackedGroup, TrajectoryApi } from "@atropos/core"
import * as Payloads from "../store/Payloads.ts"
import type { ClaimedBatch } from "../store/TrajectoryStore.ts"

/** Returns true if an `Accept` header requests the packed form. */
export const acceptsPacked = (accept: string | undefined): boolean =>
  accept !== undefined && accept.toLowerCase().includes(TrajectoryApi.packedContentType)

const comma = new TextEncoder().encode(",")
const utf8 = new TextEncoder()

/** Part by part, so that a batch is never copied as a whole. */
const written = (
  parts: ReadonlyArray<Uint8Array>,
  options: { readonly contentType: string; readonly headers?: { readonly [name: string]: string } }
) =>
  HttpServerResponse.stream(Stream.rechunk(Stream.fromIterable(parts), 1), {
    ...options,
    contentLength: parts.reduce((sum, part) => sum + part.length, 0)
  })

const packed = Effect.fnUntraced(function* (batch: ClaimedBatch) {
  const groups = yield* Effect.forEach(batch.groups, ({ id, payload }) =>
    Effect.map(Payloads.toPacked(payload), (bytes) => ({ key: id, bytes }))
  )
  return written(PackedGroup.listParts(groups), {
    contentType: TrajectoryApi.packedContentType,
    headers: {
      "atropos-batch-id": batch.id,
      "atropos-step": String(batch.step),
      "atropos-lease-token": batch.leaseToken,
      "atropos-lease-until": String(batch.leaseUntil),
      "atropos-deliveries": String(batch.deliveries)
    }
  })
})

const json = Effect.fnUntraced(function* (batch: ClaimedBatch) {
  const groups = yield* Effect.forEach(batch.groups, ({ payload }) => Payloads.toJson(payload))
  const head = JSON.stringify({
    id: batch.id,
    step: batch.step,
    lease_token: batch.leaseToken,
    lease_until: batch.leaseUntil,
    deliveries: batch.deliveries
  })
  const parts = [
    utf8.encode(`${head.slice(0, -1)},"groups":[`),
    ...groups.flatMap((pieces, index) => (index === 0 ? pieces : [comma, ...pieces])),
    utf8.encode("]}")
  ]
  return written(parts, { contentType: "application/json" })
})

/** In the form of the `Accept` header, by default JSON. */
export const make = (
  batch: ClaimedBatch,
  accept: string | undefined
): Effect.Effect<HttpServerResponse.HttpServerResponse> => (acceptsPacked(accept) ? packed(batch) : json(batch))
