/** Versions per token in submissions of JSON, which are stored packed, and what the viewer is given of them. */
import { assert, describe, it } from "@effect/vitest"
import { VersionRuns } from "@atropos/core"
import * as PackedGroup from "@atropos/core/service/PackedGroup"
import * as WireGroup from "@atropos/core/service/WireGroup"
import type { ScoredGroup } from "@atropos/core/trajectory/ScoredGroup"
import { Effect, Result, Schema } from "effect"
import * as Payloads from "../../src/store/Payloads.ts"
import * as SubmissionForm from "../../src/submission/SubmissionForm.ts"

const limits = { maxGroups: 4, maxSequences: 8, maxTokensPerSequence: 64, maxGroupBytes: 1 << 20 }
const key = "019a9d3e-6d3c-7cc1-a3a5-5a0a9f2b8f11"

const Versions = Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })))
const Sequences = Schema.NonEmptyArray(Versions).check(Schema.isMaxLength(4))

/** A prompt of one token, then a token of each version. */
const groupOf = (sequences: ReadonlyArray<ReadonlyArray<number>>): ScoredGroup => {
  const tokens = sequences.map((versions) => new Int32Array(1 + versions.length).fill(7))
  return {
    tokens,
    masks: tokens.map((row) => new Uint8Array(row.length).fill(1, 1)),
    scores: new Float64Array(tokens.length),
    policyVersions: sequences.map((versions) => Math.min(...versions)),
    versionRuns: sequences.map((versions) => VersionRuns.ofTokens(versions, 1) ?? new Int32Array())
  }
}

const read = (item: unknown) =>
  SubmissionForm.read(
    {
      contentType: "application/json",
      idempotencyKey: undefined,
      body: new TextEncoder().encode(JSON.stringify(item))
    },
    limits as Parameters<typeof SubmissionForm.read>[1]
  )

const itemOf = (group: ScoredGroup, runs: unknown = group.versionRuns?.map(VersionRuns.toJson)) => ({
  key,
  group: JSON.parse(WireGroup.encode(group)) as unknown,
  policy_versions: group.policyVersions,
  version_runs: runs
})

describe("versions per token", () => {
  it.effect.prop("survive a submission of JSON, and are shown", [Sequences], ([sequences]) =>
    Effect.gen(function* () {
      const group = groupOf(sequences)
      const [submission] = Result.getOrThrow(read(itemOf(group)))
      const stored = Result.getOrThrow(PackedGroup.decode(submission!.payload.bytes))
      assert.deepStrictEqual(stored.versionRuns, group.versionRuns)
      assert.strictEqual(submission!.policyStep, Math.min(...sequences.flat()))
      const pieces = yield* Payloads.toViewedJson(submission!.payload)
      const viewed = JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>
      assert.deepStrictEqual(viewed["version_runs"], group.versionRuns!.map(VersionRuns.toJson))
      assert.deepStrictEqual(viewed["policy_versions"], group.policyVersions)
    })
  )

  it("are refused by the place where they are wrong", () => {
    const group = groupOf([[1, 2], [1]])
    const fieldOf = (runs: unknown) => {
      const refused = read(itemOf(group, runs))
      assert(Result.isFailure(refused) && refused.failure._tag === "Invalid")
      return refused.failure.field
    }
    assert.strictEqual(fieldOf(7), "version_runs")
    assert.strictEqual(fieldOf([[]]), "version_runs")
    assert.strictEqual(fieldOf([[], [[0]]]), "version_runs")
    assert.strictEqual(fieldOf([[], [[9, 1]]]), "version_runs.1")
    assert.strictEqual(fieldOf([[[1, 2]], []]), "version_runs.0")
  })
})
