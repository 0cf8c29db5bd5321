import { fileURLToPath } from "node:url"
import { assert, describe, it, layer } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Dataset, Environment, Laws, Message, ServerManager, Tokenizer, ToolCalls } from "@atropos/core"
import { TravelPlanning } from "@atropos/envs"
import { Effect, Layer, Option, Result, Schema, Stream } from "effect"
import * as CallScores from "../../src/travel/CallScores.ts"
import * as Plan from "../../src/travel/Plan.ts"
import { names } from "../../src/travel/Tools.ts"
import { claimed, claimsHold, itemsHold, lawsHold } from "../TestItems.ts"

const file = fileURLToPath(new URL("../fixtures/travel.csv", import.meta.url))

const environment = (settings: Parameters<typeof TravelPlanning.layer>[0], script: ServerManager.Script = ["?"]) =>
  TravelPlanning.layer({ groupSize: 2, seed: 3, ...settings }).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([Tokenizer.layerBytes, Layer.provide(Dataset.layer, NodeServices.layer)])
  )

layer(environment({}))("TravelPlanning", (it) => {
  it.effect("gives the same items from any cursor on, none of them held out", () => itemsHold)
  it.effect("holds for each of thirty items what is claimed of it", () => claimsHold(30))
  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group), {
    arbitrary: { runs: 20 }
  })
})

const call = (name: string, given: object = {}): ToolCalls.Call => ({ name, arguments: given })

describe("TravelPlanning's rows", () => {
  it.effect("are turns of conversations, with plans in Python", () =>
    Effect.gen(function* () {
      const items = yield* claimed(2)
      assert.strictEqual(items.length, 2)
      const hotel = items.find(({ label }) => label.includes("Austin"))!
      assert.match(hotel.label, / \/ With free wifi and a gym\. \/ That is all, thanks!$/)
      const [gold] = hotel.gold
      assert.deepStrictEqual(
        gold!.messages
          .filter(({ role }) => role === "assistant")
          .map((message) => ToolCalls.callsOf(Message.text(message))),
        [
          [],
          [
            call("search_hotels", { city: "Austin", checkin_date: ["May 10, 2025"], checkout_date: ["May 15, 2025"] }),
            call("save_to_cache", { key: "hotels", value: "hotels" })
          ],
          [
            call("get_results_from_cache", { key: "hotels" }),
            call("filter_hotels", { prior_results: "hotels", free_wifi_included: true, gym_present: true }),
            call("save_to_cache", { key: "filtered_hotels", value: "filtered_hotels" })
          ],
          []
        ]
      )
      for (const { gold, score, wrong } of items) yield* Laws.goldOnTop(score, gold, wrong, [0, 1])
    }).pipe(Effect.provide(environment({ source: file, testSource: file })))
  )

  it.effect("are played to the end whatever is answered, and scored turn by turn", () =>
    Effect.gen(function* () {
      const { evaluation } = yield* Environment.Environment
      const items = yield* Stream.runCollect(Option.getOrThrow(evaluation))
      const [hotel] = yield* items.find(({ label }) => label.includes("Austin"))!.evaluate
      // Nothing for the first turn, all names and half of the arguments for the second, all for the third.
      assert.strictEqual(hotel!.trajectory.messages.filter(({ role }) => role === "user").length, 3)
      const found = (2 * 5) / (6 + 6)
      assert.closeTo(hotel!.score, (0 + (0.7 + 0.3 * found) + 1) / 3, 1e-9)
      assert.closeTo(hotel!.rewards?.["arguments"] ?? 0, (0 + found + 1) / 3, 1e-9)
      const [missing] = yield* items.find(({ label }) => label.includes("New York"))!.evaluate
      assert.strictEqual(missing!.score, 1)
    }).pipe(
      Effect.provide(
        environment({ source: file, testSource: file }, (request) => {
          const said = "messages" in request ? Message.text(request.messages.at(-1)!) : ""
          const answer = said.includes("New York")
            ? [call("seek_information", { query: "When?" })]
            : said.includes("wifi")
              ? [
                  call("save_to_cache", { key: "FILTERED_HOTELS ", value: "filtered_hotels" }),
                  call("get_results_from_cache", { key: "hotels" }),
                  call("filter_hotels", { prior_results: "hotels", free_wifi_included: false, gym_present: true })
                ]
              : []
          return answer.length === 0 ? "With pleasure." : answer.map(ToolCalls.writeCall).join("\n")
        })
      )
    )
  )

  it.effect("that are none say what is wrong with the first", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(environment({ source: file, textColumn: "text" })))
      assert.match(
        error.message,
        /unknown column "text" \(text_column\); the columns are ID, Filled_Template, Filled_Plan/
      )
    }).pipe(Effect.scoped)
  )
})

const read = (code: string) => Result.getOrThrow(Plan.callsOf(code, names))

describe("Plan.callsOf", () => {
  const cases: ReadonlyArray<readonly [string, string, ReadonlyArray<ToolCalls.Call>]> = [
    ["nothing", 'print("No planning needed")', []],
    [
      "literals",
      "sort_results(results=-1.5e1, sort_by=None, ascending=False)",
      [call("sort_results", { results: -15, sort_by: null, ascending: false })]
    ],
    [
      "lists and maps",
      "search_hotels(stars=[4, 5,], rating=(4.5,), city={'a': [1]})",
      [call("search_hotels", { stars: [4, 5], rating: [4.5], city: { a: [1] } })]
    ],
    [
      "texts",
      `search_hotels(city='New "York"', hotel_name="""O'Hara\\n""" "x")`,
      [call("search_hotels", { city: 'New "York"', hotel_name: "O'Hara\nx" })]
    ],
    [
      "other sources as they stand",
      "filter_hotels(prior_results=found[0] + 1, budget=(200))",
      [call("filter_hotels", { prior_results: "found[0] + 1", budget: 200 })]
    ],
    [
      "calls in calls and statements",
      "for x in [1]:  # search_hotels(\n    save_to_cache(key='a', value=t.search_flights(airline=['B']))",
      [
        call("save_to_cache", { key: "a", value: "t.search_flights(airline=['B'])" }),
        call("search_flights", { airline: ["B"] })
      ]
    ],
    [
      "no other functions, nor arguments without names",
      "find(city='A')\nseek_information('When?')",
      [call("seek_information")]
    ]
  ]
  it.each(cases)("reads %s", (_, code, calls) => assert.deepStrictEqual(read(code), calls))

  it("says what does not end", () => {
    for (const [code, reason] of [
      ["search_hotels(city='A", /a text does not end: 'A/],
      ["search_hotels(city='A'", /the call of search_hotels does not end/]
    ] as const) {
      const calls = Plan.callsOf(code, names)
      assert.match(Result.isFailure(calls) ? calls.failure : "read", reason)
    }
  })
})

describe("CallScores.ofTurn", () => {
  const Given = Schema.Array(
    Schema.Struct({
      name: Schema.Literals(["search_hotels", "save_to_cache"]),
      a: Schema.Literals([1, 2]),
      b: Schema.Literals(["x", "y"])
    })
  ).check(Schema.isMaxLength(5))
  const callsOf = (given: typeof Given.Type) => given.map(({ name, ...rest }) => call(name, rest))

  it.prop(
    "is 1 for the same calls in any order, within 0 and 1 for any, and the same for any order",
    [Given, Given],
    ([one, other]) => {
      const [expected, given] = [callsOf(one), callsOf(other)]
      const same = CallScores.ofTurn(expected, expected.toReversed())
      assert.isTrue(Object.values(same).every((value) => value === 1))
      const parts = CallScores.ofTurn(expected, given)
      for (const value of Object.values(parts)) assert.isTrue(value >= 0 && value <= 1)
      assert.deepStrictEqual(CallScores.ofTurn(expected.toReversed(), given.toReversed()), parts)
      const back = CallScores.ofTurn(given, expected)
      if (one.length > 0 && other.length > 0)
        assert.deepStrictEqual(
          [back.f1, back.precision, back.recall, back.exact],
          [parts.f1, parts.recall, parts.precision, parts.exact]
        )
      if (parts.exact === 1)
        assert.deepStrictEqual(
          callsOf(one)
            .map((c) => JSON.stringify(c))
            .toSorted(),
          callsOf(other)
            .map((c) => JSON.stringify(c))
            .toSorted()
        )
    }
  )

  it("counts the right tool with wrong arguments in part, as the original does", () => {
    const expected = [
      call("search_hotels", { city: "Austin", stars: [4, 5] }),
      call("save_to_cache", { key: "hotels" })
    ]
    const given = [call("search_hotels", { city: " AUSTIN", stars: [3] }), call("sort_results", { results: "hotels" })]
    const {
      arguments: byArguments,
      complete,
      exact,
      f1,
      format,
      precision,
      recall
    } = CallScores.ofTurn(expected, given)
    assert.deepStrictEqual([f1, byArguments, format, complete], [0.5, 0.5, 1, 0])
    assert.deepStrictEqual([precision, recall, exact], [0.5, 0.5, 0])
  })

  it("compares loosely: case, blanks, order of lists, numbers as texts", () => {
    const alike: ReadonlyArray<readonly [unknown, unknown]> = [
      ["Austin", " austin"],
      [
        [4, 5],
        [5, 4]
      ],
      ["4", 4],
      [true, 1],
      ["9007199254740993", 9007199254740993n],
      [{ id: 9007199254740993n }, { id: 9007199254740993n }],
      [["4"], [4]],
      [
        { a: 1, b: [2] },
        { b: [2], a: 1 }
      ]
    ]
    for (const [a, b] of alike) assert.isTrue(CallScores.isAlike(a, b))
    const different: ReadonlyArray<readonly [unknown, unknown]> = [
      ["a", "b"],
      [[4], [4, 4]],
      [null, 0],
      ["9007199254740993", "9007199254740992"],
      [9007199254740993n, 9007199254740992n],
      [{ id: 9007199254740993n }, { id: 9007199254740992n }],
      ["4%", 4],
      ["", 0],
      [{}, []],
      [undefined, "x"]
    ]
    for (const [a, b] of different) assert.isFalse(CallScores.isAlike(a, b))
  })

  it("takes a call that cannot be read for a wrong one", () => {
    const expected = [call("search_hotels", { city: "A" })]
    const parts = CallScores.ofTurn(expected, [...expected, undefined])
    assert.deepStrictEqual([parts.format, parts.precision, parts.recall], [0, 0.5, 1])
  })
})
