import { assert, describe, it } from "@effect/vitest"
import { TemplateRoles } from "@atropos/core"
import { readFileSync } from "node:fs"
import * as RoleChats from "./RoleChats.ts"

/** Recorded by `scripts/make-template-fixture.py`. */
const { families } = JSON.parse(readFileSync(new URL("../fixtures/templates.json", import.meta.url), "utf8")) as {
  readonly families: { readonly [family: string]: { readonly template: string } }
}

const turn = "<{{ m.role }}>{{ m.content }}"
const loop = (body: string): string => `{% for m in messages %}${body}{% endfor %}`
const refuse = (test: string): string => `{% if ${test} %}{{ raise_exception("no") }}{% endif %}`

/** Templates that treat roles as those of published models do. */
const templates: { readonly [treatment: string]: string } = {
  "renders every role": loop(turn),
  "refuses a later system message (Qwen 3.5)": loop(refuse('m.role == "system" and not loop.first') + turn),
  "drops later system messages (gpt-oss)": loop(`{% if m.role != "system" or loop.first %}${turn}{% endif %}`),
  "moves system messages to the front (DeepSeek V3)":
    loop('{% if m.role == "system" %}{{ m.content }}{% endif %}') +
    loop(`{% if m.role != "system" %}${turn}{% endif %}`),
  "keeps the last system message only (DeepSeek R1)":
    '{% set ns = namespace(text="") %}' +
    loop('{% if m.role == "system" %}{% set ns.text = m.content %}{% endif %}') +
    `{{ ns.text }}${loop(`{% if m.role != "system" %}${turn}{% endif %}`)}`,
  "refuses system messages, and two of the user (Gemma)": loop(
    refuse('m.role == "system"') + refuse('(m.role == "user") != (loop.index0 % 2 == 0)') + turn
  )
}

describe("the roles of a chat", () => {
  for (const [treatment, template] of Object.entries(templates)) {
    it(`are all shown, in order and as a function of what came before, by a template that ${treatment}`, () => {
      assert.deepStrictEqual(RoleChats.violations(RoleChats.tokenizerWith(treatment, template)), [])
    })
  }

  for (const [family, { template }] of Object.entries(families)) {
    it(`are all shown, in order and as a function of what came before, by the template of ${family}`, () => {
      assert.deepStrictEqual(RoleChats.violations(RoleChats.tokenizerWith(family, template)), [])
    })
  }

  it("are those that were sent if the template renders them", () => {
    const tokenizer = RoleChats.tokenizerWith("plain", templates["renders every role"]!)
    const chat = RoleChats.chatOf("SSUSASU")
    const { changes, messages } = TemplateRoles.adapt(chat, TemplateRoles.renderedBy(tokenizer, true))
    assert.strictEqual(messages, chat)
    assert.strictEqual(changes.size, 0)
  })

  it("become those of the template: leading system messages in one, later ones in the user's", () => {
    const tokenizer = RoleChats.tokenizerWith("first", templates["refuses a later system message (Qwen 3.5)"]!)
    const { changes, messages } = TemplateRoles.adapt(
      RoleChats.chatOf("SSUSASU"),
      TemplateRoles.renderedBy(tokenizer, false)
    )
    const [first, second, third, fourth, fifth, sixth, seventh] = [0, 1, 2, 3, 4, 5, 6].map(RoleChats.mark)
    assert.deepStrictEqual(messages, [
      { role: "system", content: `${first}\n\n${second}` },
      { role: "user", content: `${third}\n\n${fourth}` },
      { role: "assistant", content: fifth! },
      { role: "user", content: `${sixth}\n\n${seventh}` }
    ])
    assert.deepStrictEqual([...changes], ["system_merged", "system_as_user"])
  })
})
