import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { instructionsOf, scores } from "../../src/suite/ifeval/Ifeval.ts"

const row = (id: string, args: { readonly [name: string]: unknown }) =>
  instructionsOf({ instruction_id_list: [id], kwargs: [args] }, () => "en")

const strict = (id: string, args: { readonly [name: string]: unknown }, text: string) =>
  scores(text, Result.getOrThrow(row(id, args))).values.prompt_strict

/** Instructions that compare a number, with the name of their relation. */
const compared: ReadonlyArray<readonly [id: string, relation: string, args: { readonly [name: string]: unknown }]> = [
  ["length_constraints:number_sentences", "relation", { num_sentences: 2 }],
  ["length_constraints:number_words", "relation", { num_words: 2 }],
  ["keywords:frequency", "relation", { keyword: "so", frequency: 2 }],
  ["keywords:letter_frequency", "let_relation", { letter: "a", let_frequency: 2 }],
  ["change_case:capital_word_frequency", "capital_relation", { capital_frequency: 2 }]
]

describe("Ifeval", () => {
  it.each(compared)("%s knows IFEval's relations, and refuses others by name", (id, relation, args) => {
    for (const known of ["at least", "less than"])
      assert.isTrue(Result.isSuccess(row(id, { ...args, [relation]: known })))
    for (const unknown of ["at most", "more than", "exactly", "AT LEAST", "", undefined, null, 2]) {
      const refused = row(id, { ...args, [relation]: unknown })
      const reason = Result.isFailure(refused) ? refused.failure : ""
      assert.include(reason, `${id} needs ${relation}, one of "less than" and "at least", and has`)
      assert.include(reason, JSON.stringify(unknown ?? null))
    }
  })

  it("judges by the relation", () => {
    const args = { num_sentences: 2 }
    const id = "length_constraints:number_sentences"
    assert.strictEqual(strict(id, { ...args, relation: "at least" }, "One. Two. Three."), 1)
    assert.strictEqual(strict(id, { ...args, relation: "less than" }, "One. Two. Three."), 0)
    assert.strictEqual(strict(id, { ...args, relation: "less than" }, "One."), 1)
    assert.strictEqual(strict(id, { ...args, relation: "at least" }, "One."), 0)
  })
})
