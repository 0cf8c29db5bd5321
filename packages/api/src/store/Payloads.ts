/**
 * Converts stored groups to the requested form. Bytes are passed through if the form matches, otherwise decoded and
 * encoded. Stored payloads were validated, so an unreadable one is a broken invariant.
 */
import { Effect, Result } from "effect"
import type * as ScoredGroup from "@atropos/core/trajectory/ScoredGroup"
import * as Timings from "@atropos/core/trajectory/Timings"
import * as VersionRuns from "@atropos/core/trajectory/VersionRuns"
import * as TrainedLogprobs from "@atropos/core/service/TrainedLogprobs"
import * as PackedGroup from "@atropos/core/service/PackedGroup"
import * as WireGroup from "@atropos/core/service/WireGroup"
import type { Payload } from "./TrajectoryStore.ts"

export const toScoredGroup = ({ bytes, format }: Payload): Effect.Effect<ScoredGroup.ScoredGroup> => {
  const group: Result.Result<ScoredGroup.ScoredGroup, unknown> =
    format === "packed"
      ? PackedGroup.decode(bytes)
      : Result.flatMap(WireGroup.parse(bytes), ({ value }) => WireGroup.decode(value))
  return Effect.orDie(Effect.fromResult(group))
}

const unpacked = (bytes: Uint8Array) => Effect.orDie(Effect.fromResult(PackedGroup.decodeLabelled(bytes)))

// Encoding a large group takes many milliseconds; yielding lets other requests run.
const piecesOf = (group: PackedGroup.LabelledGroup): Effect.Effect<ReadonlyArray<Uint8Array>> =>
  Effect.forEach(WireGroup.encodeLabelledPieces(group), (piece) => Effect.as(Effect.yieldNow, piece))

/** The original's JSON object of 14 keys, in pieces. */
export const toJson = ({ bytes, format }: Payload): Effect.Effect<ReadonlyArray<Uint8Array>> =>
  format === "json" ? Effect.succeed([bytes]) : Effect.flatMap(unpacked(bytes), piecesOf)

export const toPacked = ({ bytes, format }: Payload): Effect.Effect<Uint8Array> => {
  if (format === "packed") return Effect.succeed(bytes)
  const group = Result.flatMap(WireGroup.parse(bytes), ({ value }) => WireGroup.decodeLabelled(value))
  return Effect.andThen(Effect.yieldNow, Effect.orDie(Effect.map(Effect.fromResult(group), PackedGroup.encodeLabelled)))
}

/** The oldest policy version of a group's sequences, null if unknown. */
export const policyStep = (versions: ReadonlyArray<number | null> | null | undefined): number | null => {
  const steps = (versions ?? []).filter((version) => version !== null)
  return steps.length === 0 ? null : steps.reduce((oldest, version) => Math.min(oldest, version))
}

/**
 * The object of 14 keys for the viewer, plus `policy_versions` and, if known, `version_runs`, `timings` and the
 * trainer's logprobs.
 */
export const toViewedJson = (
  { bytes, format }: Payload,
  trained?: TrainedLogprobs.TrainedLogprobs
): Effect.Effect<ReadonlyArray<Uint8Array>> =>
  Effect.gen(function* () {
    const group = format === "packed" ? yield* unpacked(bytes) : undefined
    const pieces = group === undefined ? [bytes] : yield* piecesOf(group)
    const { policyVersions, timings, versionRuns }: Partial<PackedGroup.LabelledGroup> = group ?? {}
    const extra = JSON.stringify({
      policy_versions: policyVersions ?? null,
      ...(versionRuns && { version_runs: versionRuns.map(VersionRuns.toJson) }),
      ...(timings && { timings: timings.map(Timings.toJson) })
    })
    const last = pieces.at(-1)
    if (last === undefined) return pieces
    const computed = trained === undefined ? "" : `,${TrainedLogprobs.toJson(trained)}`
    // Inserted before the object's closing brace.
    const end = new TextEncoder().encode(`,${extra.slice(1, -1)}${computed}}`)
    return [...pieces.slice(0, -1), last.subarray(0, -1), end]
  })
