/** What a model cannot do with tools is reported once, before its answers are. */
import { assert, describe, it } from "@effect/vitest"
import { OutputFormats, Tokenizer } from "@atropos/core"
import { Effect, Logger } from "effect"
import * as ToolSupport from "../../../src/inference/format/ToolSupport.ts"

const { bytes } = Tokenizer
const tools = [{ type: "function", function: { name: "f", parameters: {} } }]

/** A tokenizer with this template, which shows tools or not. */
const tokenizerOf = (template: string, showsTools: boolean): Tokenizer.TokenizerShape => ({
  ...bytes,
  name: "tiny",
  chatTemplate: () => template,
  applyChatTemplate: (messages, options) => JSON.stringify(showsTools ? [messages, options.tools] : messages)
})

/** What is reported of requests with these tools, one after the other. */
const reported = (tokenizer: Tokenizer.TokenizerShape, requests: ReadonlyArray<ReadonlyArray<unknown>>) =>
  Effect.gen(function* () {
    const messages: Array<string> = []
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (logLevel === "Warn") messages.push(JSON.stringify(message))
    })
    const format = OutputFormats.of(tokenizer)
    yield* Effect.forEach(requests, (one) => ToolSupport.report(tokenizer, one, format)).pipe(
      Effect.provide(Logger.layer([logger]))
    )
    return messages
  })

describe("tools that a model", () => {
  it.effect("is not shown by its template are reported once, whatever requests came before", () =>
    Effect.gen(function* () {
      const said = yield* reported(tokenizerOf("{{ messages }}", false), [[], tools, tools, [], tools])
      assert.lengthOf(said, 1)
      assert.match(said[0] ?? "", /chat template does not support tools.*tiny/)
    })
  )

  it.effect("would call in a form that is not known are reported once, and not taken for another's", () =>
    Effect.gen(function* () {
      const tokenizer = tokenizerOf("{{ messages }}{{ tools }}[[call]]", true)
      const said = yield* reported(tokenizer, [tools, tools])
      assert.lengthOf(said, 1)
      assert.match(said[0] ?? "", /tool-call format is unknown.*tool_call_format/)
      const text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
      assert.deepStrictEqual(OutputFormats.of(tokenizer).read(text, { tools }).calls, [])
    })
  )

  it.effect("is shown and calls in a known form are not reported", () =>
    Effect.map(reported(tokenizerOf("{{ tools }}<tool_call>", true), [tools, tools]), (said) =>
      assert.deepStrictEqual(said, [])
    )
  )

  it.effect("are reported for each of two models", () =>
    Effect.gen(function* () {
      for (const name of ["one", "two"]) {
        const said = yield* reported({ ...tokenizerOf("{{ messages }}", false), name }, [tools])
        assert.lengthOf(said, 1)
      }
    })
  )
})
