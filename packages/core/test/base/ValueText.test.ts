import { assert, describe, it } from "@effect/vitest"
import * as ValueText from "../../src/base/ValueText.ts"

const itself: { name: string; self?: unknown } = { name: "a" }
itself.self = itself

const values: ReadonlyArray<readonly [what: string, value: unknown, text: string | undefined]> = [
  ["plain data", { a: [1, "x", null] }, '{"a":[1,"x",null]}'],
  ["a long integer", { id: 12345678901234567890n }, '{"id":12345678901234567890}'],
  ["what contains itself", itself, '{"name":"a","self":[Circular]}'],
  [
    "a getter that throws",
    {
      get a() {
        throw new Error("no")
      }
    },
    '{"a":"[property access threw]"}'
  ],
  ["nothing", undefined, undefined]
]

describe("the text of a value", () => {
  for (const [what, value, text] of values) it(`of ${what}`, () => assert.strictEqual(ValueText.of(value), text))
})
