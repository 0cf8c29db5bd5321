import { assert, describe, it } from "@effect/vitest"
import { Tokenizer } from "@atropos/core"
import { Schema } from "effect"
import * as StopStrings from "../../src/server/StopStrings.ts"
import * as TextPieces from "../../src/server/TextPieces.ts"

/** What is shown of a text fed in these pieces. */
const shown = (pieces: ReadonlyArray<string>, stops: ReadonlyArray<string>, included = false) => {
  const watch = StopStrings.make(stops, { included })
  let text = ""
  for (const piece of pieces) {
    const fed = watch.feed(piece)
    text += fed.text
    if (fed.stop !== undefined) return { text, stop: fed.stop }
  }
  return { text: text + watch.rest(), stop: undefined }
}

/** Cuts a text after these many characters each, over and over. */
const cut = (text: string, lengths: ReadonlyArray<number>): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (let at = 0, i = 0; at < text.length; i++) {
    const length = 1 + (lengths[i % Math.max(1, lengths.length)] ?? 0)
    pieces.push(text.slice(at, at + length))
    at += length
  }
  return pieces
}

// Few letters, so that stop strings occur, overlap and begin in vain.
const Letters = Schema.Array(Schema.Literals(["a", "b", "c"]))
const Lengths = Schema.Array(Schema.Literals([0, 1, 2, 4]))

/** The definition, by trying every character: the first end of a stop string, the longest that ends there. */
const expected = (text: string, stops: ReadonlyArray<string>) => {
  for (let end = 1; end <= text.length; end++) {
    const [stop] = stops
      .filter((one) => one !== "" && text.slice(0, end).endsWith(one))
      .toSorted((a, b) => b.length - a.length)
    if (stop !== undefined) return { text: text.slice(0, end - stop.length), stop }
  }
  return { text, stop: undefined }
}

describe("StopStrings", () => {
  it.prop(
    "cuts before the stop string that is complete first, wherever the pieces end",
    [Letters, Schema.Array(Letters), Lengths],
    ([letters, stopLetters, lengths]) => {
      const text = letters.join("")
      const stops = stopLetters.slice(0, 4).map((one) => one.slice(0, 4).join(""))
      assert.deepStrictEqual(shown(cut(text, lengths), stops), expected(text, stops))
    },
    { arbitrary: { runs: 500 } }
  )

  it("shows the stop string where it is asked to", () => {
    assert.deepStrictEqual(shown(["on", "e E", "ND"], ["END"], true), { text: "one END", stop: "END" })
  })

  it("holds back no more than what may begin a stop string", () => {
    const watch = StopStrings.make(["</s>"])
    assert.deepStrictEqual(watch.feed("a < b"), { text: "a < b" })
    assert.deepStrictEqual(watch.feed(" <"), { text: " " })
    assert.deepStrictEqual(watch.feed("/"), { text: "" })
    assert.deepStrictEqual(watch.feed("p>"), { text: "</p>" })
  })
})

const pieces = (tokens: ReadonlyArray<number>) => {
  const text = TextPieces.make(Tokenizer.bytes)
  return [...tokens.map(text.feed), text.rest()]
}

describe("TextPieces", () => {
  it.prop("joined they are the text of all tokens, valid or not", [Schema.Array(Schema.Natural)], ([numbers]) => {
    const tokens = numbers.map((number) => number % 259)
    const joined = pieces(tokens).join("")
    assert.strictEqual(joined, Tokenizer.bytes.decode(tokens, { skipSpecialTokens: true }))
  })

  it.prop("no piece of a sound text holds half a character", [Schema.String], ([text]) => {
    const sound = text.toWellFormed().replaceAll("\u{FFFD}", "")
    const all = pieces(Tokenizer.bytes.encode(sound))
    assert.isTrue(all.every((piece) => piece.isWellFormed() && !piece.includes("\u{FFFD}")))
  })

  it("says what is left of an unfinished character at the end", () => {
    assert.deepStrictEqual(pieces([97, 0xf0, 0x9f]), ["a", "", "", "\u{FFFD}"])
  })

  it("does not wait for ever for bytes that are no character", () => {
    const all = pieces(Array.from({ length: 20 }, () => 0x80))
    assert.isTrue(all.slice(0, 8).join("").length > 0)
  })
})
