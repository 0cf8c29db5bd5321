import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as PackedGroup from "../../src/service/PackedGroup.ts"
import * as SavedGroup from "../../src/service/SavedGroup.ts"
import type { ScoredGroup } from "../../src/trajectory/ScoredGroup.ts"
import * as VersionRuns from "../../src/trajectory/VersionRuns.ts"

const Version = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })))
/** Versions of each sampled token of some sequences. */
const Sequences = Schema.Array(Schema.NonEmptyArray(Version)).check(Schema.isMaxLength(4))
const Places = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))

const known = (versions: ReadonlyArray<number | null>) => versions.map((version) => version ?? undefined)
const oldest = (versions: ReadonlyArray<number | null>): number | null => {
  const all = versions.filter((version) => version !== null)
  return all.length === 0 ? null : Math.min(...all)
}

/** Sequences with a prompt of `start` tokens, and their versions. */
const groupOf = (sequences: ReadonlyArray<ReadonlyArray<number | null>>, start: number): ScoredGroup => {
  const tokens = sequences.map((versions) => new Int32Array(start + versions.length))
  return {
    tokens,
    masks: tokens.map((row) => new Uint8Array(row.length).fill(1, start)),
    scores: new Float64Array(tokens.length),
    policyVersions: sequences.map(oldest),
    versionRuns: sequences.map((versions) => VersionRuns.ofTokens(known(versions), start) ?? new Int32Array())
  }
}

/** Of a sequence of four tokens and version 1. */
const flaw = (...runs: ReadonlyArray<number>) => VersionRuns.flaw(Int32Array.from(runs), 4, 1) ?? ""

describe("versions per token", () => {
  it.prop("are those of each token, and absent if all are of one", [Sequences, Places], ([sequences, start]) => {
    for (const versions of sequences) {
      const runs = VersionRuns.ofTokens(known(versions), start)
      const isMixed = versions.some((version) => version !== versions[0])
      assert.strictEqual(runs !== undefined, isMixed)
      if (runs === undefined) continue
      const read = versions.map((_, at) => VersionRuns.versionAt(runs, start + at) ?? null)
      assert.deepStrictEqual(read, [...versions])
      assert.strictEqual(VersionRuns.oldest(runs) ?? null, oldest(versions))
      assert.isUndefined(VersionRuns.flaw(runs, start + versions.length, oldest(versions)))
      assert.deepStrictEqual(VersionRuns.ofJson(JSON.parse(JSON.stringify(VersionRuns.toJson(runs)))), runs)
      const mask = new Uint8Array(start + versions.length).fill(1)
      const kept = VersionRuns.restrict(mask, runs, (version) => version !== undefined && version > 1)
      assert.deepStrictEqual(
        [...kept.subarray(start)],
        versions.map((version) => (version !== null && version > 1 ? 1 : 0))
      )
    }
  })

  it.prop("survive packed bytes and lines of JSON", [Sequences, Places], ([sequences, start]) => {
    const group = groupOf(sequences, start)
    const packed = PackedGroup.encode(group)
    assert.deepStrictEqual(Result.getOrThrow(PackedGroup.decode(packed)), group)
    const saved = Result.getOrThrow(SavedGroup.parse(SavedGroup.encode(group)))
    assert.deepStrictEqual(saved.unknown, [])
    if (sequences.length > 0) {
      assert.deepStrictEqual(saved.group.versionRuns, group.versionRuns)
      assert.deepStrictEqual(saved.group.policyVersions, group.policyVersions)
    }
  })

  it.prop("are the oldest to readers that do not know them", [Sequences, Places], ([sequences, start]) => {
    // A reader ignores sections it does not know, as this one ignores a renamed one.
    const text = Buffer.from(PackedGroup.encode(groupOf(sequences, start))).toString("latin1")
    const bytes = Uint8Array.from(Buffer.from(text.replaceAll("version_runs", "version_rows"), "latin1"))
    const read = Result.getOrThrow(PackedGroup.decode(bytes))
    assert.isUndefined(read.versionRuns)
    assert.deepStrictEqual(read.policyVersions, sequences.map(oldest))
  })

  it("of a group from before are absent", () => {
    const { versionRuns: _, ...before } = groupOf([[1], [null]], 2)
    assert.deepStrictEqual(Result.getOrThrow(PackedGroup.decode(PackedGroup.encode(before))), before)
    assert.notInclude(SavedGroup.encode(before), "version")
  })

  it("are refused if they do not fit the tokens or the sequence's version", () => {
    assert.match(flaw(0), /pairs/)
    assert.match(flaw(0, 1, 4, 2), /ascend within the 4 tokens: 4/)
    assert.match(flaw(2, 1, 2, 2), /ascend/)
    assert.match(flaw(0, 1, 2, -2), /cannot be -2/)
    assert.match(flaw(0, 2, 2, 3), /oldest version, 2, should be .* 1$/)
    assert.strictEqual(flaw(0, 2, 2, 1), "")
    const group = { ...groupOf([[1, 2]], 0), policyVersions: [2] }
    const decoded = PackedGroup.decode(PackedGroup.encode(group))
    assert(Result.isFailure(decoded))
    assert.strictEqual(decoded.failure.field, "versionRuns.0")
    assert.isUndefined(VersionRuns.ofJson([[0]]))
    assert.isUndefined(VersionRuns.ofJson([[0, 1.5]]))
    assert.isUndefined(VersionRuns.ofJson("[[0, 1]]"))
  })
})
