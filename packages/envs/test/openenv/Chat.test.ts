/** Observations in words, and answers as actions: what the schema says, what settings say, what stays unseen. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Acting from "../../src/openenv/Acting.ts"
import * as Described from "../../src/openenv/Described.ts"
import * as Telling from "../../src/openenv/Telling.ts"
import * as Visible from "../../src/openenv/Visible.ts"

const described = (action: object, observation: object = {}) =>
  Described.read({
    action: { properties: action, required: Object.keys(action) },
    observation: { properties: observation }
  })

const none = { actionField: null, actionExtra: {}, tag: null }
const chosen = (action: object, settings: Partial<Acting.Settings> = {}) =>
  Acting.field({ ...none, ...settings }, described(action))
const acted = (answer: string, schema: object, settings: Partial<Acting.Settings> = {}) =>
  Acting.action(answer, Result.getOrThrow(chosen({ move: schema }, settings)), { ...none, ...settings })

describe("an answer as an action", () => {
  const values = [
    ["a text, without the thinking", "<think>e4?</think> d4 ", { type: "string" }, "d4"],
    ["a whole number", "7", { type: "integer" }, 7],
    ["no whole number", "7.5", { type: "integer" }, undefined],
    ["no number", "seven", { type: "number" }, undefined],
    ["a boolean", "true", { type: "boolean" }, true],
    ["one of several types", "3", { anyOf: [{ type: "integer" }, { type: "null" }] }, 3],
    ["a choice in any case", "North", { type: "string", enum: ["north", "south"] }, "north"],
    ["no choice there is", "up", { type: "string", enum: ["north", "south"] }, undefined],
    ["a choice by reference", "2", { anyOf: [{ type: "integer", enum: [1, 2] }] }, 2]
  ] as const
  it.each(values)("reads %s", (_, answer, schema, value) => {
    assert.deepStrictEqual(acted(answer, schema), value === undefined ? undefined : { move: value })
  })

  it("takes what stands between the last tags, and nothing without them", () => {
    const move = { type: "string" }
    assert.deepStrictEqual(acted("<a>x</a> no, <a> y </a>", move, { tag: "a" }), { move: "y" })
    for (const answer of ["x", "<a>x", "x</a>", "<think><a>x</a></think>"]) {
      assert.isUndefined(acted(answer, move, { tag: "a" }))
    }
  })

  it("goes beside what is always the same; what a server needs more is named", () => {
    const two = { kind: { type: "string" }, text: { type: "string" } }
    const field = Result.getOrThrow(chosen(two, { actionExtra: { kind: "guess" } }))
    assert.deepStrictEqual(Acting.action("hi", field, { actionExtra: { kind: "guess" }, tag: null }), {
      kind: "guess",
      text: "hi"
    })
    assert.match(
      Result.getOrThrow(Result.flip(chosen(two))),
      /kind \(string, required\), text \(string, required\).*--env.action_field/
    )
    assert.match(
      Result.getOrThrow(Result.flip(chosen(two, { actionField: "text" }))),
      /an action needs kind in addition to text/
    )
    assert.strictEqual(Result.getOrThrow(chosen({}, { actionField: "any" })).name, "any")
    assert.match(Result.getOrThrow(Result.flip(chosen({}))), /have no fields/)
  })
})

describe("an observation in words", () => {
  const isHidden = Visible.isHiddenBy(Visible.hidden)
  const text = { type: "string" }
  const template = (given: string | null, observation: object) =>
    Telling.template(given, described({}, observation), isHidden)

  it("is the only text, or one of a usual name; never one that is hidden", () => {
    assert.strictEqual(Result.getOrThrow(template(null, { board: text, score: { type: "number" } })), "{board}")
    assert.strictEqual(Result.getOrThrow(template(null, { hint: text, question: text })), "{question}")
    assert.strictEqual(Result.getOrThrow(template(null, { hint: text, correct_answer: text })), "{hint}")
    assert.match(
      Result.getOrThrow(Result.flip(template(null, { a: text, b: text }))),
      /fields|a \(string\), b \(string\)/
    )
    assert.match(Result.getOrThrow(Result.flip(template("{a} {target}", { a: text, target: text }))), /contains target/)
    assert.match(Result.getOrThrow(Result.flip(template("plain words", { a: text }))), /has no \{field\}/)
  })

  it("fills a template, and names a field that is not there", () => {
    const observation = { board: [["x", null]], moves: 3, solution: "y" }
    assert.strictEqual(
      Result.getOrThrow(Telling.notice("B {board}, {moves} moves", observation, isHidden)),
      'B [["x",null]], 3 moves'
    )
    assert.match(
      Result.getOrThrow(Result.flip(Telling.notice("{gone}", observation, isHidden))),
      /no field gone; it has board, moves, solution/
    )
  })

  it.prop(
    "has no hidden field at any depth",
    [Schema.Json, Schema.Literals(Visible.hidden), Schema.String],
    ([value, name, key]) => {
      const secret = "the right answer 7c1"
      const nested = {
        [name]: secret,
        list: [{ [key === name ? "key" : key]: { [name.toUpperCase()]: { deep: secret } } }, value]
      }
      assert.notInclude(JSON.stringify(Visible.of(nested, isHidden)), secret)
    }
  )
})
