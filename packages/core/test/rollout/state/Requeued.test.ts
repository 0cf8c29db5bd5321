import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Requeued from "../../../src/rollout/state/Requeued.ts"

const saving = (item: unknown) => ({ save: () => item })

const paths = (requeued: Requeued.Requeued) => requeued.save().map(({ path }) => path)

describe("Requeued", () => {
  it("saves what was put back once what it came from is through, its groups included", () => {
    const requeued = Requeued.make()
    requeued.open("7", saving("root"))
    requeued.open("7.0", saving("a"))
    requeued.open("7.1", saving({ b: [1] }))
    requeued.hold("7", "key")
    assert.deepStrictEqual(requeued.save(), [])
    requeued.release("7")
    assert.deepStrictEqual(requeued.save(), [])
    const before = requeued.version()
    requeued.answered("key")
    assert.notStrictEqual(requeued.version(), before)
    assert.deepStrictEqual(requeued.save(), [
      { path: "7.0", item: "a" },
      { path: "7.1", item: { b: [1] } }
    ])
    requeued.release("7.0")
    requeued.release("7.1")
    assert.deepStrictEqual(requeued.save(), [])
  })

  it("leaves to what is open what will come of it again", () => {
    const requeued = Requeued.make()
    for (const path of ["3.0", "3.0.0", "3.0.1.4", "3.1.0", "30.0"]) requeued.open(path, saving(path))
    assert.deepStrictEqual(paths(requeued), ["3.0", "3.1.0", "30.0"])
    requeued.release("3.0")
    assert.deepStrictEqual(paths(requeued), ["3.0.0", "3.0.1.4", "3.1.0", "30.0"])
  })

  it("saves nothing of an item where a part of it cannot be saved, or there would be too much", () => {
    const requeued = Requeued.make()
    requeued.open("1.0", saving("a"))
    requeued.open("1.1", saving(undefined))
    requeued.open("2.0", {})
    requeued.open("3.0", saving("c"))
    requeued.open("4.0", saving("d".repeat(5 * 2 ** 20)))
    requeued.open("4.1", saving("e"))
    assert.deepStrictEqual(paths(requeued), ["3.0"])
  })

  it("is read as it was saved, and refuses paths that are none", () => {
    const decode = Schema.decodeUnknownExit(Requeued.Saved)
    assert.strictEqual(decode([{ path: "12.0.3", item: null }])._tag, "Success")
    for (const path of ["12", "", "a.b", "1..2", "1.2.", "1.-2"]) {
      assert.strictEqual(decode([{ path, item: null }])._tag, "Failure", path)
    }
    assert.strictEqual(Requeued.indexOf("12.0.3"), 12)
  })
})
