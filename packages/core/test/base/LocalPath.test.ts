import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { homedir } from "node:os"
import * as LocalPath from "@atropos/core/base/system/LocalPath"

const name = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][\w-]{0,8}$/))

describe("LocalPath.of", () => {
  it.prop("takes what begins like a path for one, whatever follows", [name, name], ([one, other]) => {
    for (const path of [
      `./${one}`,
      `../${one}/${other}`,
      `/${one}`,
      `~/${one}`,
      `C:\\${one}`,
      `.\\${one}`,
      ".",
      "..",
      "~"
    ]) {
      assert.isTrue(Option.isSome(LocalPath.of(path)), path)
    }
  })

  it.prop("takes what ends like a file of data or weights for one", [name, name], ([one, other]) => {
    for (const ending of ["jsonl", "parquet", "csv", "json", "safetensors", "gguf", "PARQUET"]) {
      assert.deepStrictEqual(LocalPath.of(`${one}/${other}.${ending}`), Option.some(`${one}/${other}.${ending}`))
    }
  })

  it.prop("leaves ids of the hub alone", [name, name, name], ([owner, one, split]) => {
    for (const id of [
      one,
      `${owner}/${one}`,
      `${owner}/${one}-0.5B`,
      `${owner}/${one}@main`,
      `${owner}/${one}/${split}`
    ]) {
      assert.deepStrictEqual(LocalPath.of(id), Option.none())
    }
  })

  it("knows the home folder", () => {
    assert.deepStrictEqual(LocalPath.of("~/models/a"), Option.some(`${homedir()}/models/a`))
  })
})
