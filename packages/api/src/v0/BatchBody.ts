/** Builds the JSON body of a batch from stored payloads; payloads stored as JSON are not parsed. */
import { Effect } from "effect"
import * as Payloads from "../store/Payloads.ts"
import type { Payload, StoredGroup } from "../store/TrajectoryStore.ts"

const encoder = new TextEncoder()
const opening = encoder.encode('{"batch":[')
const comma = encoder.encode(",")
const closing = encoder.encode("]}")

export const groupJson = (payload: Payload): Effect.Effect<Uint8Array> =>
  Effect.map(Payloads.toJson(payload), (pieces) => (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)))

/** `{"batch":[…]}`. */
export const make = Effect.fnUntraced(function* (groups: ReadonlyArray<StoredGroup>) {
  const parts: Array<Uint8Array> = [opening]
  for (const [index, { payload }] of groups.entries()) {
    if (index > 0) parts.push(comma)
    parts.push(...(yield* Payloads.toJson(payload)))
  }
  parts.push(closing)
  return Buffer.concat(parts)
})
