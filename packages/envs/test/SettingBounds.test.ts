/** Settings of every environment refuse numbers that mean nothing, before anything is asked of a server. */
import { registry } from "@atropos/envs"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

const isNotNegative = /(temperature|weight|price|evaluationItems)$/i

describe("the settings of an environment", () => {
  for (const [name, { layer }] of Object.entries(registry)) {
    it(`${name}: a negative temperature, weight, price or number of items is refused`, () => {
      const fields = Object.entries(layer.settings.fields).filter(([field]) => isNotNegative.test(field))
      assert.include(
        fields.map(([field]) => field),
        "inferenceWeight"
      )
      for (const [field, schema] of fields) {
        const decode = Schema.decodeUnknownResult(schema as Schema.Codec<unknown>)
        assert.isTrue(Result.isFailure(decode(-2)), field)
        assert.isTrue(Result.isSuccess(decode(1)), field)
      }
    })
  }
})
