/** The JSON body of a batch, joined from stored payloads: what is stored as JSON is not parsed again. */
import { Effect } from "effect"
import { PackedGroup, WireGroup } from "@atropos/core"
import type { Payload, StoredGroup } from "../TrajectoryStore.ts"

const encoder = new TextEncoder()
const opening = encoder.encode('{"batch":[')
const comma = encoder.encode(",")
const closing = encoder.encode("]}")

/** The wire's JSON of a stored group. Packed payloads were checked when they came in: one that does not decode is a defect. */
export const groupJson = ({ bytes, format }: Payload): Effect.Effect<Uint8Array> =>
  format === "json"
    ? Effect.succeed(bytes)
    : Effect.fromResult(PackedGroup.decode(bytes)).pipe(
        Effect.orDie,
        Effect.map((group) => encoder.encode(WireGroup.encode(group)))
      )

/** `{"batch":[…]}`. */
export const make = Effect.fnUntraced(function* (groups: ReadonlyArray<StoredGroup>) {
  const parts: Array<Uint8Array> = [opening]
  for (const [index, { payload }] of groups.entries()) {
    if (index > 0) parts.push(comma)
    parts.push(yield* groupJson(payload))
    // Writing a large group anew takes milliseconds: let other requests in between.
    if (payload.format === "packed") yield* Effect.yieldNow
  }
  parts.push(closing)
  return Buffer.concat(parts)
})
