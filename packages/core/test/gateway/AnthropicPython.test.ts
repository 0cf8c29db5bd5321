import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { having } from "../Python.ts"
import * as Python from "./Python.ts"
import * as TestGateway from "./TestGateway.ts"

const { assertExact, call } = TestGateway

/** A loop of tools as Anthropic's documentation has it, plain and streamed, and what goes wrong. */
const program = `
import json, anthropic

client = anthropic.Anthropic()
tools = [{
    "name": "weather",
    "description": "The weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}]

def loop(send):
    messages = [{"role": "user", "content": "Where is it warm?"}]
    while True:
        answer = send(model="any", max_tokens=256, system="Use the tool.", tools=tools, messages=messages)
        messages.append({"role": "assistant", "content": answer.content})
        if answer.stop_reason != "tool_use":
            return answer.content[-1].text
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": block.id, "content": json.dumps(block.input)}
            for block in answer.content if block.type == "tool_use"
        ]})

def streamed(**request):
    with client.messages.stream(**request) as stream:
        for _ in stream.text_stream:
            pass
        return stream.get_final_message()

texts = [loop(client.messages.create), loop(streamed)]
counted = client.messages.count_tokens(model="any", messages=[{"role": "user", "content": "Hi"}]).input_tokens
try:
    client.messages.create(model="any", max_tokens=9, messages=[{"role": "tool", "content": "?"}])
except anthropic.BadRequestError as error:
    refused = error.body["error"]["message"]
print(json.dumps({"texts": texts, "counted": counted, "refused": refused}))
`

const Told = Schema.Struct({ texts: Schema.Array(Schema.String), counted: Schema.Int, refused: Schema.String })

const { absence, isPresent } = having("anthropic")

describe.skipIf(!isPresent)(`the gateway and Anthropic's SDK for Python${absence}`, () => {
  it.live("runs a loop of parallel tools, plain and streamed, with the engine's own ids", () =>
    TestGateway.use(
      {
        script: [
          `${call("weather", { city: "Oslo", days: 1.5, "10": [1, 2], "1": null })}\n${call("weather", { city: "日本" })}`,
          "Rome is warm.",
          `Let me see.\n${call("weather", { city: "Rome" })}`,
          "It is Rome."
        ]
      },
      ({ gateway, log }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const told = yield* Python.run(program, {
            ANTHROPIC_BASE_URL: session.anthropicBaseURL,
            ANTHROPIC_API_KEY: session.apiKey
          })
          const { counted, refused, texts } = yield* Schema.decodeUnknownEffect(Told)(told)
          assert.deepStrictEqual(texts, ["Rome is warm.", "It is Rome."])
          assert.strictEqual(refused, 'messages.0.role: must be "user", "assistant" or "system"')
          assert.isAbove(counted, 0)
          assert.strictEqual((yield* assertExact(session, log)).length, 2)
        })
    )
  )
})
