import { assert, describe, it } from "@effect/vitest"
import * as Reason from "../../src/base/Reason.ts"

describe("the whole of a reason", () => {
  it("has the innermost message, once, behind one that says nothing", () => {
    const refused = new Error("connect ECONNREFUSED 127.0.0.1:4999")
    const failed = new TypeError("fetch failed", { cause: refused })
    assert.strictEqual(Reason.whole(failed), "fetch failed: connect ECONNREFUSED 127.0.0.1:4999")
    assert.strictEqual(
      Reason.whole(new Error("Connection error.", { cause: failed })),
      "Connection error: connect ECONNREFUSED 127.0.0.1:4999"
    )
    assert.strictEqual(Reason.whole(new Error(`no: ${refused.message}`, { cause: refused })), `no: ${refused.message}`)
    assert.strictEqual(Reason.whole(new RangeError("too far")), "too far")
    assert.strictEqual(Reason.whole(new RangeError("")), "RangeError")
  })
})
