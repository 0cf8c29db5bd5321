/** Text of tokens that another tokenizer made is not written. */
import { assert, describe, it } from "@effect/vitest"
import { type ScoredGroup, Tokenizer } from "@atropos/core"
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import type * as Sample from "../../src/sets/Sample.ts"
import * as TokenizerMatch from "../../src/sets/TokenizerMatch.ts"
import * as SampleGroups from "./SampleGroups.ts"

const { bytes } = Tokenizer
const other: Tokenizer.TokenizerShape = {
  ...bytes,
  name: "other",
  decode: (ids, options) =>
    bytes.decode(
      Array.from(ids, (id) => (id < 256 ? 255 - id : id)),
      options
    ),
  encode: (text, options) => bytes.encode(text, options).map((id) => (id < 256 ? 255 - id : id))
}
const formOf = (tokenizer: Tokenizer.TokenizerShape, from: "tokens" | "messages" = "tokens"): Sample.Form => ({
  _tag: "Text",
  tokenizer,
  from,
  dropBos: false
})
const plain = SampleGroups.sum(1, [["It is 2.", 1]])
const recorded: ScoredGroup.ScoredGroup = { ...plain, groupOverrides: { tokenizer: TokenizerIdentity.of(bytes) } }

describe("the tokenizer of a data set", () => {
  it("is that which the groups record, whatever it is called", () => {
    assert.isUndefined(TokenizerMatch.make(formOf({ ...bytes, name: "elsewhere" }))(recorded))
    assert.match(String(TokenizerMatch.make(formOf(other))(recorded)), /were tokenized with bytes, not with other/)
  })

  it("decodes the tokens to what the messages say, where groups record none; the first of them is compared", () => {
    assert.isUndefined(TokenizerMatch.make(formOf(bytes))(plain))
    const mismatchOf = TokenizerMatch.make(formOf(other))
    assert.match(String(mismatchOf(plain)), /the tokens decoded with other do not match the text of the messages/)
    const { messages: _, ...silent } = plain
    assert.isUndefined(TokenizerMatch.make(formOf(other))(silent))
  })

  it("is any for text of messages, and for messages", () => {
    assert.isUndefined(TokenizerMatch.make(formOf(other, "messages"))(recorded))
    assert.isUndefined(TokenizerMatch.make({ _tag: "Messages" })(recorded))
  })
})
