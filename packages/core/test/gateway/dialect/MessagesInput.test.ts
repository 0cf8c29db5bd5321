import { assert, describe, it } from "@effect/vitest"
import * as ExactJson from "../../../src/base/json/ExactJson.ts"
import * as Input from "../../../src/gateway/dialect/messages/Input.ts"

describe("arguments of a call on Anthropic's wire", () => {
  const written = '{"id":2512292042121000001,"share":1.0,"deep":[1e5,{"x":-0.50}]}'

  it("go out as they were written, in one piece and streamed", () => {
    assert.strictEqual(JSON.stringify({ input: Input.read(written) }), `{"input":${written}}`)
    assert.strictEqual(Input.streamed(written), written)
  })

  it("come back as they were written", () => {
    const body = ExactJson.parseRequest(`{"max_tokens":1e3,"messages":[{"content":[{"input":${written}}]}]}`)
    const { max_tokens: most, messages } = body as {
      readonly max_tokens: number
      readonly messages: ReadonlyArray<{ readonly content: ReadonlyArray<{ readonly input: unknown }> }>
    }
    assert.strictEqual(most, 1000)
    assert.strictEqual(Input.write(messages[0]!.content[0]!.input), written)
  })

  it("that are no object stay the text that they are", () => {
    assert.strictEqual(Input.read("1.0"), "1.0")
    assert.strictEqual(Input.streamed("1.0"), '"1.0"')
  })
})
