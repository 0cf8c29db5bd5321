import { assert, describe, it } from "@effect/vitest"
import * as Words from "../../src/config/Words.ts"

describe("Words", () => {
  it("finds the environment wherever it stands, the last one given", () => {
    assert.strictEqual(Words.argValue(["process", "--env", "gsm8k", "--env.group_size", "4"], "env"), "gsm8k")
    assert.strictEqual(Words.argValue(["--env=./my.ts", "process"], "env"), "./my.ts")
    assert.strictEqual(Words.argValue(["process", "--env", "a", "--env=b"], "env"), "b")
    assert.strictEqual(Words.argValue(["process", "--env", "--help"], "env"), undefined)
    assert.strictEqual(Words.argValue(["process", "--env.group_size", "4"], "env"), undefined)
  })

  it("finds the verb behind flags", () => {
    assert.strictEqual(Words.subcommand(["--log-level", "debug", "serve", "--env", "x"]), "serve")
    assert.strictEqual(Words.subcommand(["--help"]), undefined)
  })

  it("spells Python's booleans after boolean flags, and leaves other values alone", () => {
    const booleans = new Set(["slurm", "env.use_wandb"])
    assert.deepStrictEqual(
      Words.normalizeBooleans(["--slurm", "False", "--env.use_wandb=True", "--env.wandb_name", "True"], booleans),
      ["--slurm", "false", "--env.use_wandb=true", "--env.wandb_name", "True"]
    )
  })
})
