import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { having } from "../Python.ts"
import * as Python from "./Python.ts"
import * as TestGateway from "./TestGateway.ts"

const { assertExact, call } = TestGateway

/** One process for all ways of asking, as the package takes seconds to load: one session for each. */
const program = `
import json, os
from openai import OpenAI

climates = {"Oslo": "cold", "Rome": "warm"}
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
weather = {"name": "weather", "description": "The weather of a city", "parameters": parameters}
questions = ["Weather in Oslo and Rome?", "And in Bergen?"]

def output_of(arguments):
    return climates.get(json.loads(arguments)["city"], "unknown")

def responses(client, is_streamed, is_short):
    every, previous, answers = [], None, []
    for question in questions:
        news = [{"role": "user", "content": question}]
        while news:
            every += news
            asked = {"input": news, **({"previous_response_id": previous} if previous else {})} if is_short else {"input": every}
            asked.update(model="any", instructions="Be brief.", tools=[{"type": "function", "strict": True, **weather}])
            if is_streamed:
                with client.responses.stream(**asked) as stream:
                    for event in stream: pass
                    response = stream.get_final_response()
            else:
                response = client.responses.create(**asked)
            previous = response.id
            every += response.output
            calls = [item for item in response.output if item.type == "function_call"]
            news = [{"type": "function_call_output", "call_id": one.call_id, "output": output_of(one.arguments)} for one in calls]
        answers.append(response.output_text)
    return answers

def chat(client, is_streamed):
    messages, answers = [{"role": "system", "content": "Be brief."}], []
    for question in questions:
        messages.append({"role": "user", "content": question})
        while True:
            asked = dict(model="any", messages=messages, tools=[{"type": "function", "function": weather}])
            if is_streamed:
                with client.chat.completions.stream(**asked) as stream:
                    for event in stream: pass
                    message = stream.get_final_completion().choices[0].message
            else:
                message = client.chat.completions.create(**asked).choices[0].message
            messages.append(message)
            if not message.tool_calls: break
            for one in message.tool_calls:
                messages.append({"role": "tool", "tool_call_id": one.id, "content": output_of(one.function.arguments)})
        answers.append(message.content)
    return answers

ways = [
    lambda client: responses(client, False, False),
    lambda client: responses(client, False, True),
    lambda client: responses(client, True, False),
    lambda client: responses(client, True, True),
    lambda client: chat(client, False),
    lambda client: chat(client, True),
]
urls = os.environ["BASE_URLS"].split(" ")
print(json.dumps([way(OpenAI(base_url=url, api_key="any")) for way, url in zip(ways, urls)]))
`

const ways = [
  "Responses",
  "Responses, with the previous one",
  "Responses, streamed",
  "Responses, streamed, with the previous one",
  "Chat Completions",
  "Chat Completions, streamed"
]

const openai = having("openai")

describe.skipIf(!openai.isPresent)(`the gateway and Python's openai package${openai.absence}`, () => {
  it.live("record turns with parallel tool calls as one sequence, whatever API is used", () =>
    TestGateway.use(
      {
        script: [
          `Let me look. ${call("weather", { city: "Oslo" })}\n${call("weather", { city: "Rome" })}`,
          "Cold in Oslo, warm in Rome.",
          call("weather", { city: "Bergen" }),
          "Nobody knows."
        ]
      },
      ({ gateway, log }) =>
        Effect.gen(function* () {
          const sessions = yield* Effect.all(ways.map(() => gateway.open()))
          const answers = yield* Python.run(program, { BASE_URLS: sessions.map(({ baseURL }) => baseURL).join(" ") })
          assert.deepStrictEqual(
            answers,
            ways.map(() => ["Cold in Oslo, warm in Rome.", "Nobody knows."])
          )
          assert.strictEqual(log.length, 4 * ways.length)
          for (const [at, session] of sessions.entries()) {
            const own = log.slice(4 * at, 4 * at + 4)
            assert.strictEqual((yield* assertExact(session, own)).length, 1, ways[at])
          }
        })
    )
  )
})
