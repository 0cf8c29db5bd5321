/** Texts a scoring function was not written for: empty, huge, malformed, deeply nested, in other scripts, and random ones. */
import { Effect, Random } from "effect"

const pieces = [
  "\\boxed{",
  "}",
  "{",
  "$",
  "\\frac{1}{0}",
  "^",
  "answer is",
  "<think>",
  "</think>",
  "####",
  "|",
  "-",
  "1e999",
  "NaN",
  "0",
  "7",
  ",",
  ".",
  " ",
  "\n",
  "é",
  "中",
  "😀",
  "\u0000",
  "\u202e"
]

/** The same every time. */
export const fixed: ReadonlyArray<string> = [
  "",
  " \n\t",
  "\u0000",
  "\ud800",
  "NaN",
  "-0",
  "Infinity",
  "9".repeat(5_000),
  "9^{9^{9^{9^9}}}",
  "\\boxed{9^{9^{9^{9}}}}",
  "\\boxed{".repeat(500),
  `${"\\boxed{".repeat(500)}${"}".repeat(500)}`,
  `\\boxed{${"(".repeat(2_000)}`,
  `\\boxed{${"|".repeat(200)}}`,
  "<think>".repeat(1_000),
  "</think>",
  "a".repeat(100_000),
  `${"a".repeat(50_000)}!`,
  " ".repeat(50_000),
  "\\boxed{1}".repeat(2_000),
  '{"a":'.repeat(2_000),
  "**".repeat(10_000),
  "The answer is ".repeat(2_000),
  "constructor __proto__ toString"
]

/** Random texts of pieces that parsers stumble over. */
export const random = Effect.fn("Hostile.random")(function* (count: number) {
  const texts: Array<string> = []
  for (let made = 0; made < count; made++) {
    let text = ""
    const length = yield* Random.nextIntBetween(1, 60)
    for (let part = 0; part < length; part++) text += pieces[yield* Random.nextIntBetween(0, pieces.length)] ?? ""
    texts.push(text)
  }
  return texts
})
