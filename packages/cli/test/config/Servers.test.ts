import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Precedence from "../../src/config/Precedence.ts"
import { type Sources, resolveServers } from "../../src/config/RunSettings.ts"

const one = { base_url: "http://one/v1", model_name: "one" }
const two = [{ base_url: "http://a/v1" }, { base_url: "http://b/v1" }]

const resolve = (environment: unknown, file: unknown, flags: Sources["flags"] = {}) =>
  Result.getOrUndefined(resolveServers({ section: "openai", environment, file, flags }))

describe("Servers", () => {
  it("takes a list of two or more from the file over everything else", () => {
    assert.deepStrictEqual(resolve(undefined, two), two)
    assert.deepStrictEqual(resolve([one, one, one], two), two)
  })

  it("takes the environment's list where file and flags are silent", () => {
    assert.deepStrictEqual(resolve(two, undefined), two)
  })

  it("merges one server field by field: flags over file over environment", () => {
    const expected = { base_url: "http://flag/v1", model_name: "file", timeout: 5 }
    for (const environment of [{ ...one, timeout: 5 }, [{ ...one, timeout: 5 }]]) {
      for (const file of [{ model_name: "file" }, [{ model_name: "file" }]]) {
        assert.deepStrictEqual(resolve(environment, file, { base_url: "http://flag/v1" }), expected)
      }
    }
  })

  it("keeps the address of a single server that stands in no list", () => {
    assert.deepStrictEqual(resolve(one, undefined), one)
    assert.deepStrictEqual(resolve(undefined, undefined, { base_url: "http://x/v1" }), { base_url: "http://x/v1" })
  })

  it("is empty where nobody said anything", () => {
    assert.deepStrictEqual(resolve(undefined, undefined), {})
  })

  it("refuses flags on a list, and names the flag and the list", () => {
    for (const [environment, file, where] of [
      [undefined, two, "file of --config"],
      [two, undefined, "environment"]
    ] as const) {
      const result = resolveServers({ section: "judge", environment, file, flags: { model_name: "x" } })
      assert.isTrue(Result.isFailure(result))
      if (Result.isFailure(result)) {
        assert.include(result.failure.message, "--judge.model_name")
        assert.include(result.failure.message, where)
      }
    }
  })
})

describe("Precedence", () => {
  it("merges maps and replaces everything else, later over earlier", () => {
    assert.deepStrictEqual(
      Precedence.merge({ a: 1, map: { x: 1, y: 1 }, list: [1] }, { map: { y: 2 } }, { a: null, list: [2, 3] }),
      { a: null, map: { x: 1, y: 2 }, list: [2, 3] }
    )
  })
})
