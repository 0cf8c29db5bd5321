import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Nearest from "../../src/base/Nearest.ts"

const settings = ["--env.group_size", "--env.total_steps", "--openai.base_url", "--openai.model_name", "--slurm"]

describe("Nearest", () => {
  it("finds a flag by a typo, by a missing prefix and by another spelling", () => {
    assert.strictEqual(Nearest.nearest("--env.grop_size", settings), "--env.group_size")
    assert.strictEqual(Nearest.nearest("--group_size", settings), "--env.group_size")
    assert.strictEqual(Nearest.nearest("--env.group-size", settings), "--env.group_size")
    assert.strictEqual(Nearest.nearest("--env.groupSize", settings), "--env.group_size")
    assert.strictEqual(Nearest.nearest("--openai.url_base", settings), undefined)
  })

  it("is silent where nothing is near", () => {
    assert.strictEqual(Nearest.hint("--frobnicate", settings), "")
    assert.strictEqual(Nearest.hint("proces", ["process", "serve"]), '; did you mean "process"?')
  })

  it("counts a swap of neighbours as one edit", () => {
    assert.strictEqual(Nearest.editDistance("gsm8k", "gms8k"), 1)
    assert.strictEqual(Nearest.editDistance("", "abc"), 3)
  })

  it.prop(
    "is a distance: zero for equals, symmetric, at most the longer length",
    [Schema.String, Schema.String],
    ([a, b]) => {
      assert.strictEqual(Nearest.editDistance(a, a), 0)
      assert.strictEqual(Nearest.editDistance(a, b), Nearest.editDistance(b, a))
      assert.isAtMost(Nearest.editDistance(a, b), Math.max(a.length, b.length))
    }
  )
})
