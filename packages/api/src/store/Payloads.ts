/**
 * Stored groups in the form somebody asks for. Bytes are handed on as they are where the form is theirs, and read and
 * written anew where it is not; what was stored had been checked, so that a payload that cannot be read is a broken
 * invariant.
 */
import { Effect, Result } from "effect"
import { PackedGroup, type ScoredGroup, WireGroup } from "@atropos/core"
import type { Payload } from "./TrajectoryStore.ts"

const read = ({ bytes, format }: Payload): Result.Result<ScoredGroup.ScoredGroup, unknown> =>
  format === "packed"
    ? PackedGroup.decode(bytes)
    : Result.flatMap(WireGroup.parse(bytes), ({ value }) => WireGroup.decode(value))

/** The group itself. */
export const toScoredGroup = (payload: Payload): Effect.Effect<ScoredGroup.ScoredGroup> =>
  Effect.orDie(Effect.fromResult(read(payload)))

/** The original's JSON object of 14 keys, in pieces. */
export const toJson = (payload: Payload): Effect.Effect<ReadonlyArray<Uint8Array>> =>
  payload.format === "json"
    ? Effect.succeed([payload.bytes])
    : Effect.flatMap(toScoredGroup(payload), (group) =>
        // Writing a large group takes many milliseconds: other requests get in between.
        Effect.forEach(WireGroup.encodePieces(group), (piece) => Effect.as(Effect.yieldNow, piece))
      )

/** The packed form. */
export const toPacked = (payload: Payload): Effect.Effect<Uint8Array> =>
  payload.format === "packed"
    ? Effect.succeed(payload.bytes)
    : Effect.andThen(Effect.yieldNow, Effect.map(toScoredGroup(payload), PackedGroup.encode))

/** The oldest policy of a group's sequences, null where none is known. */
export const policyStep = (versions: ReadonlyArray<number | null> | null | undefined): number | null => {
  const known = (versions ?? []).filter((version) => version !== null)
  return known.length === 0 ? null : known.reduce((oldest, version) => Math.min(oldest, version))
}

/** The object of 14 keys with `policy_versions` at its end: what people look at. */
export const toViewedJson = (payload: Payload): Effect.Effect<ReadonlyArray<Uint8Array>> =>
  Effect.gen(function* () {
    const pieces = yield* toJson(payload)
    const versions =
      payload.format === "packed" ? Result.getOrThrow(PackedGroup.envelope(payload.bytes)).policyVersions : null
    const last = pieces.at(-1)
    if (last === undefined) return pieces
    // The object ends with its closing brace.
    return [
      ...pieces.slice(0, -1),
      last.subarray(0, -1),
      new TextEncoder().encode(`,"policy_versions":${JSON.stringify(versions)}}`)
    ]
  })
