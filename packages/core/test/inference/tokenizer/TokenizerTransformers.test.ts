/**
 * Our tokenizer beside the one of @huggingface/transformers, which is made of the same two libraries, on files with
 * other features each.
 */
import { AutoTokenizer, type PreTrainedTokenizer } from "@huggingface/transformers"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as HuggingFaceTokenizer from "../../../src/inference/tokenizer/HuggingFaceTokenizer.ts"

const folders = {
  tiny: new URL("../../fixtures/tiny-tokenizer/", import.meta.url),
  llama: new URL("../../../../trainer/test/fixtures/models/llama/", import.meta.url),
  smollm: new URL("../../../../trainer/test/fixtures/models/smollm/", import.meta.url)
}
const json = (url: URL): { [key: string]: unknown } => JSON.parse(readFileSync(url, "utf8"))

const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "<|im_start|> 2 + 2?" },
  { role: "assistant", content: " 4" },
  { role: "user", content: "Why?" }
]
const tools = [{ type: "function", function: { name: "add", description: "adds", parameters: { type: "object" } } }]
const withTools =
  "{{ bos_token }}{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}"
const named = [
  { name: "default", template: "{{ bos_token }}{{ messages[0].content }}{% if add_generation_prompt %}>{% endif %}" },
  { name: "tool_use", template: withTools }
]

// It has no word for files that are elsewhere, and none is fetched.
const libraries = await Promise.all(
  Object.entries(folders).map(async ([name, folder]): Promise<[string, URL, PreTrainedTokenizer]> => [
    name,
    folder,
    await AutoTokenizer.from_pretrained(fileURLToPath(folder), { local_files_only: true })
  ])
)

describe.each(libraries)("a tokenizer of a folder, beside the library's: %s", (_, folder, theirs) => {
  const file = json(new URL("tokenizer.json", folder))
  const config = json(new URL("tokenizer_config.json", folder))
  const ours = HuggingFaceTokenizer.make(file, config, undefined)

  it("has the same vocabulary and special tokens", () => {
    assert.deepStrictEqual([...ours.vocabulary()], [...theirs.get_vocab()])
    assert.deepStrictEqual(ours.bosTokenId, theirs.bos_token_id)
    assert.deepStrictEqual(ours.eosTokenId, theirs.eos_token_id)
  })

  it.prop("encodes and decodes the same", [Schema.String, Schema.Boolean], ([text, isSpecial]) => {
    for (const one of [text, ` ${text}<|im_end|>\n`, `${text} .  Don't , e\u0301 <s>${text}</s>`]) {
      const ids = theirs.encode(one, { add_special_tokens: isSpecial })
      assert.deepStrictEqual(ours.encode(one, isSpecial), ids)
      if (ids.length === 0) continue
      const cleanUp = config["clean_up_tokenization_spaces"] === true
      const options = { skip_special_tokens: isSpecial, clean_up_tokenization_spaces: cleanUp }
      assert.strictEqual(ours.decode(ids, isSpecial), theirs.decode(ids, options))
    }
  })

  it.each([
    ["one template", withTools],
    ["named templates", named],
    ["none", null]
  ])("renders the same prompts: %s", (_, template) => {
    const Class = Object.getPrototypeOf(theirs).constructor
    const changed = { ...config, chat_template: template }
    const beside: PreTrainedTokenizer = new Class(file, changed)
    const { render } = HuggingFaceTokenizer.make(file, changed, undefined)
    assert.strictEqual(render === undefined, template === null)
    if (render === undefined) return
    for (const given of [tools, null]) {
      for (const addGenerationPrompt of [true, false]) {
        const options = { tokenize: false, add_generation_prompt: addGenerationPrompt, tools: given } as const
        assert.strictEqual(
          render({ messages, addGenerationPrompt, tools: given }),
          beside.apply_chat_template(messages, options)
        )
      }
    }
  })
})
