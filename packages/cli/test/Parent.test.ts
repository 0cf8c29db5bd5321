import { assert, describe, it } from "@effect/vitest"

describe("the parent of a command", () => {
  it("what somebody put into the background of a script outlives its shell", async () => {
    const { isOfNpm } = await import(new URL("../bin/parent.js", import.meta.url).href)
    for (const script of [
      "atropos",
      "'atropos'",
      "node --conditions=x packages/cli/bin/atropos.js up",
      "a && atropos"
    ]) {
      assert.isTrue(isOfNpm(script), script)
    }
    for (const script of [
      "nohup atropos api > log 2>&1 &",
      "atropos api & vite",
      "sh start-atropos.sh",
      "vitest",
      ""
    ]) {
      assert.isFalse(isOfNpm(script), script)
    }
  })
})
