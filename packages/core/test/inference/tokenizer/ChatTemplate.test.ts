/** Chat templates beside transformers' renderings of them, recorded by `scripts/make-template-fixture.py`. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import * as JsonValues from "../../../src/inference/jinja/JsonValues.ts"
import * as ChatTemplate from "../../../src/inference/tokenizer/ChatTemplate.ts"

interface Recorded {
  readonly template: string
  readonly prompts: ReadonlyArray<{
    readonly messages: ReadonlyArray<{ readonly role: string }>
    readonly tools: ReadonlyArray<unknown> | null
    readonly prompt: string
  }>
}
// Written by the script.
const text = readFileSync(new URL("../../fixtures/templates.json", import.meta.url), "utf8")
const { expressions, families } = JSON.parse(text) as {
  readonly families: { readonly [family: string]: Recorded }
  /** What is given is JSON text; null where transformers refuses it. */
  readonly expressions: ReadonlyArray<readonly [template: string, given: string, text: string | null]>
}

const special = { bos_token: "<s>", eos_token: "</s>", documents: null, add_generation_prompt: true }

const rendered = (template: string, given: { readonly [name: string]: unknown } = {}) =>
  ChatTemplate.make(template)(given)

describe("a chat template", () => {
  const cases = Object.entries(families).flatMap(([family, { prompts, template }]) =>
    prompts.map((one) => ({
      ...one,
      template,
      name: `${family}, ${one.messages.map(({ role }) => role).join(" ")}, ${one.tools === null ? "no tools" : "tools"}`
    }))
  )
  it.each(cases)("renders what transformers does: $name", ({ messages, prompt, template, tools }) => {
    assert.strictEqual(ChatTemplate.make(template)({ ...special, messages, tools }), prompt)
  })

  it.each(expressions)("writes what transformers does: %s of %s", (template, json, text) => {
    // Written by the script: an object.
    const given = Object.fromEntries(JsonValues.parse(json) as Map<string, unknown>)
    if (text === null) assert.throws(() => rendered(template, given))
    else assert.strictEqual(rendered(template, given), text)
  })

  it("maps any filter over a list, with its arguments, and leaves the template's own names alone", () => {
    assert.strictEqual(rendered("{{ [1, 'a', none, [2.5]] | map('tojson') | join(';') }}"), '1;"a";null;[2.5]')
    assert.strictEqual(rendered("{{ ['a b', 'b'] | map('replace', 'b', item) | join }}", { item: "x" }), "a xx")
    assert.strictEqual(rendered("{% set item = 7 %}{{ [' a ', 'b '] | map('trim') | join(',') }}{{ item }}"), "a,b7")
    assert.strictEqual(rendered("{{ rows | map(attribute='id') | map('string') | join }}", { rows: [{ id: 1 }] }), "1")
    assert.strictEqual(rendered("{{ [] | map('tojson') | list | length }}"), "0")
    assert.throws(() => rendered("{{ ['a'] | map('no_such_filter') | join }}"), /no_such_filter/)
    assert.throws(() => rendered("{{ missing | map('tojson') }}"))
  })

  it("has the functions that templates call", () => {
    assert.strictEqual(rendered("{{ range(3) | join(',') }} {{ range(5, 1, -2) | join(',') }}"), "0,1,2 5,3")
    assert.match(rendered("{{ strftime_now('%d %b %B %Y %H:%M %% %Q') }}"), /^\d\d (\w{3}) \1\w* \d{4} \d\d:\d\d % %Q$/)
    assert.throws(() => rendered("{{ raise_exception('roles must alternate') }}"), /roles must alternate/)
    assert.strictEqual(rendered("{{ True }}{{ none is none }}{{ False or 'x' }}"), "TrueTruex")
  })
})
